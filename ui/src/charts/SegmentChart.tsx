// The segments of a device and the blocks in them, to scale. Only what is on screen is drawn, as there may be 100,000
// blocks. The pointer or the arrow keys lead to a block; the pane beside the picture shows what is known of it.
import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, type JSX } from "solid-js";
import { lineLabel } from "../format/code_lines";
import { figureText } from "../format/number";
import { counted } from "../format/names";
import type { DeviceMemory } from "../server/types";
import { theme } from "../state/theme";
import type { Rgba } from "../timeline/palette";
import { cssColor, inkOn, ownerPaints, paintColor } from "./owner_colors";
import {
  boxesOf,
  firstBelow,
  fitSegments,
  hitBlock,
  layoutSegments,
  piecesOf,
  ROW_PX,
  segmentGroups,
  stuckBytes,
  walk,
  type BlockPlace,
  type MapPart,
} from "./segment_map";
import { hatch } from "./StackedChart";

const MOST_HEIGHT_PX = 540;
const LABEL_FROM_PX = 56;
const GAP_FROM_PX = 4;
const FOOT_PX = 3;
const FAINT = 0.2;

export function SegmentChart(props: {
  device: DeviceMemory;
  magnified: number;
  /** The stack whose blocks stand out. */
  owner: number | undefined;
  chosen: BlockPlace | undefined;
  choose: (place: BlockPlace | undefined) => void;
  point: (place: BlockPlace | undefined) => void;
}): JSX.Element {
  let frame!: HTMLDivElement;
  let whole!: HTMLDivElement;
  let canvas!: HTMLCanvasElement;
  const [width, setWidth] = createSignal(0);
  const [scroll, setScroll] = createSignal(0);
  const [pointed, setPointed] = createSignal<BlockPlace>();
  const segments = () => props.device.segments;
  const groups = createMemo(() => segmentGroups(segments()));
  const scale = createMemo(() => fitSegments(segments(), groups(), Math.max(1, width()), MOST_HEIGHT_PX));
  const layout = createMemo(() =>
    layoutSegments(segments(), groups(), Math.max(1, width()), scale() / props.magnified),
  );
  const seen = () => Math.min(MOST_HEIGHT_PX, layout().height);
  const paints = createMemo(() => ownerPaints(props.device));
  const marked = createMemo(() =>
    [
      { place: pointed(), isChosen: false },
      { place: props.chosen, isChosen: true },
    ].flatMap(({ place, isChosen }) =>
      place ? boxesOf(layout(), segments(), place).map((box) => ({ ...box, isChosen })) : [],
    ),
  );
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(whole.clientWidth));
    observer.observe(whole);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    theme();
    if (width() > 0) draw();
  });
  createEffect(on(() => [props.device, props.magnified], () => (frame.scrollTop = 0), { defer: true }));
  // What the keys or a link choose comes into sight.
  createEffect(
    on([() => props.chosen, layout], ([chosen]) => {
      const box = chosen && boxesOf(layout(), segments(), chosen)[0];
      if (!box) return;
      if (box.y < frame.scrollTop) frame.scrollTop = Math.max(0, box.y - 30);
      else if (box.y + ROW_PX > frame.scrollTop + seen()) frame.scrollTop = box.y + ROW_PX + 8 - seen();
    }),
  );

  function draw(): void {
    const dots = devicePixelRatio;
    canvas.width = Math.round(width() * dots);
    canvas.height = Math.round(seen() * dots);
    const context = canvas.getContext("2d")!;
    context.scale(dots, dots);
    const style = getComputedStyle(canvas);
    const known = new Map<string, string>();
    const token = (name: string) => {
      let value = known.get(name);
      if (value === undefined) known.set(name, (value = style.getPropertyValue(name).trim()));
      return value;
    };
    context.textBaseline = "middle";
    context.translate(0, -scroll());
    const colors = paints().map((paint) => paintColor(paint, token));
    const tones = {
      colors,
      css: colors.map(cssColor),
      other: paintColor({ hue: "other", shade: 0 }, token),
      hatched: new Map<string, CanvasPattern | string>(),
      token,
    };
    for (const { y, group } of layout().headings) {
      if (y > scroll() + seen() || y + 26 < scroll()) continue;
      context.font = `600 11px ${token("--sans")}`;
      context.fillStyle = token("--ink-2");
      context.fillText(group.label, 0, y + 12);
      const after = context.measureText(group.label).width + 8;
      context.font = `11px ${token("--sans")}`;
      context.fillStyle = token("--ink-3");
      const stuck = group.stuckBytes > 0 ? `, ${figureText("bytes", group.stuckBytes)} stuck` : "";
      context.fillText(
        `${counted(group.segments.length, "segments")}, ${figureText("bytes", group.totalBytes)}${stuck}`,
        after,
        y + 12,
      );
    }
    context.font = `11px ${token("--sans")}`;
    const { parts } = layout();
    for (let at = firstBelow(parts, scroll()); at < parts.length && parts[at]!.y < scroll() + seen(); at++)
      drawPart(context, parts[at]!, tones);
  }

  type Tones = {
    colors: Rgba[];
    css: string[];
    other: Rgba;
    /** By color, as a pattern takes a while to make. */
    hatched: Map<string, CanvasPattern | string>;
    token: (name: string) => string;
  };

  function hatchedIn(context: CanvasRenderingContext2D, tones: Tones, color: string): CanvasPattern | string {
    let pattern = tones.hatched.get(color);
    if (!pattern) tones.hatched.set(color, (pattern = hatch(context, color)));
    return pattern;
  }

  function drawPart(context: CanvasRenderingContext2D, part: MapPart, tones: Tones): void {
    const segment = segments()[part.segment]!;
    const { token } = tones;
    const isStuck = stuckBytes(segment) > 0;
    context.fillStyle = token("--sunken");
    context.fillRect(part.x, part.y, part.width, ROW_PX);
    for (const { left, right, block: place } of piecesOf(segment.blocks, part)) {
      const block = segment.blocks[place]!;
      const wide = right - left - (right - left >= GAP_FROM_PX ? 1 : 0);
      if (block.state === "inactive") {
        if (!isStuck) continue;
        context.fillStyle = token("--warn");
        context.fillRect(part.x + left, part.y + ROW_PX - FOOT_PX, wide, FOOT_PX);
        continue;
      }
      const owner = block.owner ?? -1;
      const color = tones.colors[owner] ?? tones.other;
      const css = tones.css[owner] ?? cssColor(tones.other);
      context.globalAlpha = props.owner === undefined || props.owner === owner ? 1 : FAINT;
      context.fillStyle = block.state === "pending" ? hatchedIn(context, tones, css) : css;
      context.fillRect(part.x + left, part.y, wide, ROW_PX);
      context.globalAlpha = 1;
      if (wide < LABEL_FROM_PX || block.state === "pending") continue;
      if (props.owner !== undefined && props.owner !== owner) continue;
      label(context, [lineOf(block.owner), figureText("bytes", block.size_bytes)], part.x + left, part.y, wide, inkOn(color));
    }
    context.strokeStyle = token("--line-strong");
    context.lineWidth = 1;
    context.strokeRect(part.x + 0.5, part.y + 0.5, Math.max(1, part.width - 1), ROW_PX - 1);
  }

  const lineOf = (owner: number | null) => (owner === null ? "" : lineLabel(props.device.owners[owner]?.line ?? ""));

  /** As much as there is room for: the line and the size, the size, nothing. */
  function label(
    context: CanvasRenderingContext2D,
    [line, size]: [string, string],
    x: number,
    y: number,
    room: number,
    color: string,
  ): void {
    const text = [`${line}  ${size}`, size].find((text) => context.measureText(text).width <= room - 12);
    if (!text) return;
    context.fillStyle = color;
    context.fillText(text.trim(), x + 6, y + ROW_PX / 2 + 0.5);
  }

  const at = (event: MouseEvent) => hitBlock(layout(), segments(), event.offsetX, event.offsetY + scroll());
  const point = (place: BlockPlace | undefined) => {
    const before = pointed();
    if (before?.segment === place?.segment && before?.block === place?.block) return;
    setPointed(place);
    props.point(place);
  };
  const keys = (event: KeyboardEvent) => {
    const way = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" } as const;
    const by = way[event.key as keyof typeof way];
    if (!by) return;
    event.preventDefault();
    props.choose(walk(groups(), segments(), props.chosen, by));
  };
  return (
    <div
      ref={frame}
      class="segment-chart"
      role="region"
      tabindex="0"
      aria-label="Segments and their blocks; arrow keys select a block, “Table” lists the segments"
      style={{ height: `${seen()}px` }}
      onScroll={() => (setScroll(frame.scrollTop), point(undefined))}
      onKeyDown={keys}
    >
      <div ref={whole} class="whole" style={{ height: `${layout().height}px` }}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${counted(segments().length, "segments")} to scale`}
          style={{ height: `${seen()}px` }}
          onPointerMove={(event) => point(at(event))}
          onPointerLeave={() => point(undefined)}
          onClick={(event) => props.choose(at(event))}
        />
        <For each={marked()}>
          {(box) => (
            <i
              classList={{ chosen: box.isChosen }}
              style={{
                left: `${box.x}px`,
                top: `${box.y}px`,
                width: `${box.width}px`,
                height: `${ROW_PX}px`,
              }}
            />
          )}
        </For>
      </div>
    </div>
  );
}
