// Curves of memory over the recording, with the steps; a drag chooses a range.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { createEffect, onCleanup, onMount, type JSX } from "solid-js";
import { stepMark } from "../format/names";
import { figureText } from "../format/number";
import type { RulerStep } from "../timeline/ruler";
import { theme } from "../state/theme";

export type Curve = { label: string; color: string; isDashed: boolean; points: [number, number][] };

const UNITS: [number, string][] = [
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
];

export function MemoryChart(props: {
  curves: Curve[];
  steps: RulerStep[];
  peak: { time: number; bytes: number } | undefined;
  height: number;
  choose: (from: number, to: number) => void;
  clear: () => void;
}): JSX.Element {
  let frame!: HTMLDivElement;
  let plot: uPlot | undefined;
  const draw = () => {
    plot?.destroy();
    const style = getComputedStyle(frame);
    const token = (name: string) => style.getPropertyValue(name).trim();
    const most = Math.max(1, ...props.curves.flatMap((curve) => curve.points.map(([, bytes]) => bytes)));
    const [unit, symbol] = UNITS.find(([size]) => most >= size) ?? UNITS.at(-1)!;
    const axis = {
      stroke: token("--ink-3"),
      font: `11px ${token("--sans")}`,
      grid: { stroke: token("--line"), width: 1 },
      ticks: { show: false },
    };
    const [peak, steps, choose] = [props.peak, props.steps, props.choose];
    plot = new uPlot(
      {
        width: frame.clientWidth,
        height: props.height,
        padding: [14, 70, 0, 0],
        legend: { show: false },
        cursor: { points: { size: 6 }, drag: { x: true, y: false, setScale: false }, y: false },
        scales: {
          x: { time: false },
          y: { range: (_, least, largest) => [Math.min(0, least), Math.max(largest * 1.06, 1e-3)] },
        },
        axes: [
          { ...axis, size: 26, values: () => [], grid: { show: false } },
          {
            ...axis,
            size: 54,
            values: (_, ticks) =>
              ticks.map((tick, place) => (place === ticks.length - 1 ? `${tick} ${symbol}` : String(tick))),
          },
        ],
        series: [
          {},
          ...props.curves.map((curve) => ({
            label: curve.label,
            stroke: token(curve.color),
            width: 1.75,
            dash: curve.isDashed ? [5, 4] : undefined,
            fill: curve.isDashed ? undefined : `${token(curve.color)}2e`,
            paths: uPlot.paths.stepped!({ align: 1 }),
            points: { show: false },
            spanGaps: true,
          })),
        ],
        hooks: {
          setSelect: [
            (chart) =>
              chart.select.width > 4 &&
              choose(
                chart.posToVal(chart.select.left, "x"),
                chart.posToVal(chart.select.left + chart.select.width, "x"),
              ),
          ],
          drawClear: [(chart) => drawSteps(chart, steps, token)],
          draw: [(chart) => (drawEnds(chart, unit, symbol, token), peak && drawPeak(chart, peak, unit, token))],
        },
      },
      joined(props.curves, unit),
      frame,
    );
  };
  onMount(() => {
    const observer = new ResizeObserver(() => plot?.setSize({ width: frame.clientWidth, height: props.height }));
    observer.observe(frame);
    createEffect(() => {
      theme();
      draw();
    });
    onCleanup(() => (observer.disconnect(), plot?.destroy()));
  });
  return (
    <div
      class="memory-chart"
      role="img"
      aria-label="Memory over time; the tables below list the values"
      onDblClick={() => props.clear()}
    >
      <div ref={frame} />
    </div>
  );
}

/** All curves on the times of all of them; a curve holds its value until its next point. */
function joined(curves: Curve[], unit: number): uPlot.AlignedData {
  const tables = curves.map(
    (curve) => [curve.points.map(([time]) => time), curve.points.map(([, bytes]) => bytes / unit)] as uPlot.AlignedData,
  );
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

function drawSteps(chart: uPlot, steps: RulerStep[], token: (name: string) => string): void {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.textAlign = "left";
  ctx.font = `${11 * scale}px ${token("--sans")}`;
  for (const step of steps) {
    const [left, right] = [chart.valToPos(step.from, "x", true), chart.valToPos(step.to, "x", true)];
    if (right < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.fillStyle = token("--line-strong");
    if (left >= bbox.left) ctx.fillRect(Math.round(left), bbox.top, scale, bbox.height + 6 * scale);
    ctx.fillStyle = token("--ink-2");
    const start = Math.max(left, bbox.left) + 6 * scale;
    const room = Math.min(right, bbox.left + bbox.width) - start - 6 * scale;
    const whole = `${step.name} · ${figureText("ns", Math.round(step.to - step.from))}`;
    const label = [whole, step.name, stepMark(step.name)].find((text) => ctx.measureText(text).width <= room);
    if (label) ctx.fillText(label, start, bbox.top + bbox.height + 17 * scale);
  }
  ctx.restore();
}

/** The last value of each curve stands at its end. */
function drawEnds(chart: uPlot, unit: number, symbol: string, token: (name: string) => string): void {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.textAlign = "left";
  ctx.font = `${12 * scale}px ${token("--sans")}`;
  ctx.fillStyle = token("--ink-2");
  ctx.textBaseline = "middle";
  for (const values of chart.data.slice(1)) {
    const last = [...values].findLast((value) => value !== null && value !== undefined);
    if (last === undefined || last === null) continue;
    ctx.fillText(
      figureText("bytes", Math.round(last * unit)) || symbol,
      bbox.left + bbox.width + 8 * scale,
      chart.valToPos(last, "y", true),
    );
  }
  ctx.restore();
}

function drawPeak(
  chart: uPlot,
  peak: { time: number; bytes: number },
  unit: number,
  token: (name: string) => string,
): void {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  const [x, y] = [chart.valToPos(peak.time, "x", true), chart.valToPos(peak.bytes / unit, "y", true)];
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.textAlign = "left";
  ctx.setLineDash([]);
  ctx.strokeStyle = ctx.fillStyle = token("--ink");
  ctx.lineWidth = scale;
  ctx.beginPath();
  ctx.moveTo(x, y - 5 * scale);
  ctx.lineTo(x, y - 26 * scale);
  ctx.stroke();
  ctx.font = `600 ${12 * scale}px ${token("--sans")}`;
  ctx.fillText(
    `${figureText("bytes", peak.bytes)} at ${figureText("ns", Math.round(peak.time))}`,
    x + 6 * scale,
    y - 18 * scale,
  );
  ctx.beginPath();
  ctx.arc(x, y, 4 * scale, 0, 2 * Math.PI);
  ctx.fillStyle = token("--surface");
  ctx.fill();
  ctx.lineWidth = 2 * scale;
  ctx.stroke();
  ctx.restore();
}
