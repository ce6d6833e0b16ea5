// Memory by stack over time: bands on one another, what is reserved as a dashed line. A moment follows the pointer or
// the arrow keys; the table beside the chart shows its values.
import { createEffect, createMemo, createSignal, onCleanup, onMount, Show, type JSX } from "solid-js";
import { count, figureText } from "../format/number";
import type { MemoryTimeline } from "../server/types";
import { theme } from "../state/theme";
import { ticks, tickText, timeUnit } from "./scale";
import { bandAt, byteUnit, edgesOf, endOf, levelsOf, placeAt, type Band } from "./stacked";

const TOP = 30;
const BOTTOM = 24;
const LEFT = 58;
const RIGHT = 72;
const FAINT = 0.22;
/** Bands so flat have no line of their own between them. */
const EDGE_FROM_PX = 3;

export type Fill = { color: string; isHatched: boolean };

/** `at 12.50 ms`, or `at event 103` where no times are recorded. */
export function momentText(timeline: MemoryTimeline, place: number): string {
  const at = timeline.at[place] ?? 0;
  return timeline.has_times ? `at ${figureText("ns", Math.round(at))}` : `at event ${count(at)}`;
}

export function StackedChart(props: {
  timeline: MemoryTimeline;
  bands: Band[];
  /** A fill for each band. */
  fills: (token: (name: string) => string) => Fill[];
  /** The band that is looked at; all others are faint. */
  chosen: number | undefined;
  place: number;
  height: number;
  /** What bands are called. */
  names: string[];
  move: (place: number | undefined) => void;
  keep: (place: number | undefined) => void;
  choose: (band: number | undefined) => void;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [width, setWidth] = createSignal(0);
  const [tip, setTip] = createSignal<{ x: number; y: number; place: number; band: number | undefined }>();
  const places = () => props.timeline.at.length;
  const edges = createMemo(() => edgesOf(props.bands, places()));
  const levels = createMemo(() => levelsOf(props.timeline));
  // Times count from the start of the recording, numbers of events from the first that is there.
  const start = () => (props.timeline.has_times ? 0 : (props.timeline.at[0] ?? 0));
  const end = createMemo(() => endOf(props.timeline.at));
  const inner = () => ({ width: Math.max(1, width() - LEFT - RIGHT), height: props.height - TOP - BOTTOM });
  const x = (time: number) => LEFT + ((time - start()) / (end() - start())) * inner().width;
  const y = (bytes: number) => {
    const { least, most } = levels();
    return TOP + inner().height * (1 - (bytes - least) / (most - least));
  };
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
    canvas.height = Math.round(props.height * scale);
    const context = canvas.getContext("2d")!;
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const token = (name: string) => style.getPropertyValue(name).trim();
    context.font = `11px ${token("--sans")}`;
    drawAxes(context, token);
    drawBands(context, token);
    const { reserved_bytes: reserved, active_bytes: active } = props.timeline;
    if (levels().showsReserved) {
      context.setLineDash([5, 4]);
      line(context, reserved, token("--ink-2"), 1.5);
      context.setLineDash([]);
    }
    drawEnds(context, token, levels().showsReserved ? [active, reserved] : [active]);
    drawPeak(context, token);
  }

  function drawAxes(context: CanvasRenderingContext2D, token: (name: string) => string): void {
    const { least, most } = levels();
    const unit = byteUnit(most);
    context.textBaseline = "middle";
    context.textAlign = "right";
    const marks = ticks(least / unit.bytes, most / unit.bytes, Math.max(2, props.height / 70));
    marks.forEach((tick, at) => {
      const height = Math.round(y(tick * unit.bytes)) + 0.5;
      context.fillStyle = token(tick === 0 ? "--line-strong" : "--line");
      context.fillRect(LEFT, height - 0.5, inner().width, 1);
      context.fillStyle = token("--ink-3");
      context.fillText(at === marks.length - 1 ? `${tickText(tick)} ${unit.symbol}` : tickText(tick), LEFT - 8, height);
    });
    context.textAlign = "center";
    const time = timeUnit(end() - start());
    const per = props.timeline.has_times ? time.ns : 1;
    const name = props.timeline.has_times ? time.symbol : "events";
    const moments = ticks(start() / per, end() / per, Math.max(2, inner().width / 110));
    moments.forEach((tick, at) => {
      const text = at === moments.length - 1 ? `${tickText(tick)} ${name}` : tickText(tick);
      context.fillStyle = token("--ink-3");
      context.fillText(text, x(tick * per), props.height - 9);
      context.fillStyle = token("--line-strong");
      context.fillRect(Math.round(x(tick * per)), props.height - BOTTOM, 1, 4);
    });
    context.textAlign = "left";
  }

  /** A level holds until the next one. */
  function trace(context: CanvasRenderingContext2D, values: ArrayLike<number>, isBack = false): void {
    const { at } = props.timeline;
    for (let step = 0; step < at.length; step++) {
      const place = isBack ? at.length - 1 - step : step;
      const [from, to] = [x(place === 0 ? start() : at[place]!), x(at[place + 1] ?? end())];
      context.lineTo(isBack ? to : from, y(values[place]!));
      context.lineTo(isBack ? from : to, y(values[place]!));
    }
  }

  function drawBands(context: CanvasRenderingContext2D, token: (name: string) => string): void {
    const floor = new Float64Array(places());
    const fills = props.fills(token);
    edges().forEach((edge, band) => {
      const below = edges()[band - 1] ?? floor;
      const fill = fills[band]!;
      context.globalAlpha = props.chosen === undefined || props.chosen === band ? 1 : FAINT;
      context.fillStyle = fill.isHatched ? hatch(context, fill.color) : fill.color;
      context.beginPath();
      trace(context, edge);
      trace(context, below, true);
      context.closePath();
      context.fill();
      context.globalAlpha = 1;
      const highest = edge.reduce((most, top, place) => Math.max(most, top - below[place]!), 0);
      const isSeen = (highest / (levels().most - levels().least)) * inner().height >= EDGE_FROM_PX;
      if (isSeen) line(context, edge, token("--surface"), 1);
    });
    line(context, props.timeline.active_bytes, token("--ink"), 1);
  }

  function line(context: CanvasRenderingContext2D, values: ArrayLike<number>, color: string, thick: number): void {
    context.beginPath();
    trace(context, values);
    context.strokeStyle = color;
    context.lineWidth = thick;
    context.stroke();
  }

  /** The last value of each line stands at its end, none over another. */
  function drawEnds(context: CanvasRenderingContext2D, token: (name: string) => string, lines: number[][]): void {
    context.fillStyle = token("--ink-2");
    context.textBaseline = "middle";
    const lasts = lines.map((values) => values.at(-1) ?? 0).sort((a, b) => a - b);
    let above = Infinity;
    for (const last of lasts) {
      above = Math.min(above - 15, y(last));
      context.fillText(figureText("bytes", last), LEFT + inner().width + 8, above);
    }
  }

  function drawPeak(context: CanvasRenderingContext2D, token: (name: string) => string): void {
    const { peak, at, active_bytes: active } = props.timeline;
    if (at[peak] === undefined) return;
    const [left, top] = [x(at[peak]), y(active[peak]!)];
    const text = `${figureText("bytes", active[peak]!)} ${momentText(props.timeline, peak)}`;
    context.font = `600 12px ${token("--sans")}`;
    const isLeft = left + context.measureText(text).width + 8 > width();
    context.textAlign = isLeft ? "right" : "left";
    context.fillStyle = context.strokeStyle = token("--ink");
    context.lineWidth = 1;
    context.fillRect(Math.round(left), 6, 1, Math.max(0, top - 10));
    context.fillText(text, left + (isLeft ? -6 : 6), 12);
    context.textAlign = "left";
    context.beginPath();
    context.arc(left + 0.5, top, 4, 0, 2 * Math.PI);
    context.fillStyle = token("--surface");
    context.fill();
    context.lineWidth = 2;
    context.stroke();
  }

  const at = (event: MouseEvent) => {
    const time = start() + ((event.offsetX - LEFT) / inner().width) * (end() - start());
    const place = placeAt(props.timeline.at, time);
    const { least, most } = levels();
    const bytes = least + (1 - (event.offsetY - TOP) / inner().height) * (most - least);
    return { place, band: bandAt(edges(), place, bytes) };
  };
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: 20, PageDown: -20 }[event.key];
    if (by !== undefined) props.keep(Math.min(places() - 1, Math.max(0, props.place + by)));
    else if (event.key === "Home") props.keep(0);
    else if (event.key === "End") props.keep(places() - 1);
    else if (event.key === "Enter") props.keep(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="stacked-chart"
      role="slider"
      tabindex="0"
      aria-label="Moment of the memory timeline; the table lists what each stack holds at it"
      aria-valuemin="0"
      aria-valuemax={places() - 1}
      aria-valuenow={props.place}
      aria-valuetext={`${figureText("bytes", props.timeline.active_bytes[props.place] ?? 0)} active ${momentText(props.timeline, props.place)}`}
      onKeyDown={keys}
    >
      <canvas
        ref={canvas}
        style={{ height: `${props.height}px` }}
        aria-hidden="true"
        onPointerMove={(event) => {
          const found = at(event);
          setTip({ x: event.clientX, y: event.clientY, ...found });
          props.move(found.place);
        }}
        onPointerLeave={() => (setTip(undefined), props.move(undefined))}
        onClick={(event) => {
          const { band } = at(event);
          props.choose(band === props.chosen ? undefined : band);
        }}
      />
      <i class="moment" style={{ left: `${x(props.timeline.at[props.place] ?? 0)}px`, height: `${inner().height}px` }} />
      <Show when={tip()}>
        {(tip) => (
          <div
            class="tip"
            style={{ left: `${Math.min(tip().x + 14, window.innerWidth - 440)}px`, top: `${tip().y + 16}px` }}
          >
            <b>
              {figureText("bytes", props.timeline.active_bytes[tip().place] ?? 0)} {momentText(props.timeline, tip().place)}
            </b>
            <Show when={tip().band !== undefined}>
              <div class="muted">
                {figureText("bytes", props.bands[tip().band!]?.bytes[tip().place] ?? 0)} {props.names[tip().band!]}
              </div>
            </Show>
          </div>
        )}
      </Show>
    </div>
  );
}

/** Diagonal lines, as everything else is drawn that has no name. */
export function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  const scale = devicePixelRatio;
  const size = Math.round(6 * scale);
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = color;
  pen.lineWidth = 1.5 * scale;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern ?? color;
}
