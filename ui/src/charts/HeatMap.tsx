// Waiting, ranks × steps or collectives.
import { createEffect, createMemo, createSignal, onCleanup, onMount, Show, type JSX } from "solid-js";
import { figureText } from "../format/number";
import { theme } from "../state/theme";
import { heatCap, heatColor, heatRows, type Heat, type HeatCell, type HeatRow } from "./heat";

const LABEL_PX = 64;
const AXIS_PX = 22;

export function HeatMap(props: {
  heat: Heat;
  caused: (rank: number) => number;
  choose: (cell: HeatCell) => void;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [width, setWidth] = createSignal(0);
  const [tip, setTip] = createSignal<{ x: number; y: number; text: string }>();
  const rows = createMemo(() => heatRows(props.heat.ranks, props.caused));
  const height = () => rows().reduce((sum, row) => sum + row.height, 0);
  const table = createMemo(
    () => new Map(props.heat.cells.map((cell) => [cell.rank * props.heat.columns.length + cell.column, cell])),
  );
  const cellOf = (row: HeatRow, column: number) =>
    row.ranks
      .map((rank) => table().get(rank * props.heat.columns.length + column))
      .reduce((worst, cell) => (cell && (!worst || cell.wait > worst.wait) ? cell : worst), undefined);
  const cellWidth = () => (width() - LABEL_PX) / Math.max(1, props.heat.columns.length);

  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(canvas.clientWidth));
    observer.observe(canvas);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    theme();
    if (width() > 0) draw();
  });

  function draw(): void {
    const scale = devicePixelRatio;
    canvas.width = Math.round(width() * scale);
    canvas.height = Math.round((height() + AXIS_PX) * scale);
    const context = canvas.getContext("2d")!;
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const token = (name: string) => style.getPropertyValue(name).trim();
    const scaleColors = Array.from({ length: 7 }, (_, place) => token(`--seq-${place}`));
    const cap = heatCap(props.heat);
    const gap = cellWidth() > 5 ? 1 : 0;
    context.font = `11px ${token("--sans")}`;
    context.textBaseline = "middle";
    let y = 0;
    for (const row of rows()) {
      context.fillStyle = token("--ink-2");
      if (row.label && row.height >= 12) context.fillText(row.label, 0, y + row.height / 2);
      for (let column = 0; column < props.heat.columns.length; column++) {
        const cell = cellOf(row, column);
        const x = LABEL_PX + column * cellWidth();
        context.fillStyle = cell ? heatColor(scaleColors, Math.sqrt(Math.min(1, cell.wait / cap))) : token("--sunken");
        context.fillRect(x, y, cellWidth() - gap, row.height - (row.height > 5 ? 1 : 0));
        if (cell?.isLast && row.height >= 10 && cellWidth() >= 7)
          ring(context, x + (cellWidth() - gap) / 2, y + row.height / 2, token("--ink"));
      }
      y += row.height;
    }
    context.fillStyle = token("--ink-3");
    const every = Math.max(1, Math.ceil(props.heat.columns.length / (width() / 110)));
    for (let column = 0; column < props.heat.columns.length; column += every)
      context.fillText(props.heat.columns[column]!, LABEL_PX + column * cellWidth(), height() + AXIS_PX / 2 + 2);
  }

  const at = (event: PointerEvent | MouseEvent) => {
    const column = Math.floor((event.offsetX - LABEL_PX) / cellWidth());
    let y = event.offsetY;
    const row = rows().find((row) => (y -= row.height) < 0);
    return row && column >= 0 && column < props.heat.columns.length
      ? { row, column, cell: cellOf(row, column) }
      : undefined;
  };
  return (
    <>
      <canvas
        class="heat"
        ref={canvas}
        style={{ height: `${height() + AXIS_PX}px` }}
        role="img"
        aria-label={`How long each of ${props.heat.ranks.length} ranks waits; the table above lists the sums`}
        onPointerMove={(event) => {
          const found = at(event);
          setTip(
            found?.cell && {
              x: event.clientX,
              y: event.clientY,
              text: `rank ${found.cell.rank}, ${props.heat.columns[found.column]}: ${inWords(found.cell)}`,
            },
          );
        }}
        onPointerLeave={() => setTip(undefined)}
        onClick={(event) => {
          const found = at(event);
          if (found?.cell) props.choose(found.cell);
        }}
      />
      <Show when={tip()}>
        {(tip) => (
          <div
            class="tip"
            style={{ left: `${Math.min(tip().x + 12, window.innerWidth - 300)}px`, top: `${tip().y + 14}px` }}
          >
            {tip().text}
          </div>
        )}
      </Show>
    </>
  );
}

function inWords(cell: HeatCell): string {
  return cell.isLast ? "last to arrive" : `waits ${figureText("ns", Math.round(cell.wait))}`;
}

function ring(context: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  context.beginPath();
  context.arc(x, y, 2.5, 0, 2 * Math.PI);
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.stroke();
}
