// The whole recording in one strip, with the view as a frame.
import { createEffect, createSignal, For, onCleanup, onMount, type JSX } from "solid-js";
import { drawBusy } from "../charts/BusyStrip";
import { apart } from "../charts/scale";
import { textWidth } from "../charts/step_bars";
import { stepMark } from "../format/names";
import { exactTime, figureText } from "../format/number";
import { theme } from "../state/theme";
import type { SeveralRanks } from "./ask_ranks";
import type { RulerStep } from "./ruler";
import { lengthOf, type Range } from "./view";
import { createWhole } from "./whole";

const MOST_STEP_NUMBERS = 30;
const STEP_NUMBER_GAP_PX = 12;

export function Minimap(props: {
  bounds: Range;
  view: Range;
  steps: RulerStep[];
  several: SeveralRanks | undefined;
  /** Matches of the search in equal parts of the recording, which other ranks on the axis may outlast. */
  density: number[];
  recording: Range;
  look: (view: Range) => void;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  let map!: HTMLDivElement;
  const whole = createWhole(props.several);
  const [width, setWidth] = createSignal(0);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(canvas.clientWidth));
    observer.observe(canvas);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    theme();
    const known = whole.error ? undefined : whole.latest;
    if (width() > 0 && known) drawBusy(canvas, known, props.bounds, 20);
    if (width() > 0 && known) drawTicks();
  });
  const percent = (time: number) => (100 * (time - props.bounds.from)) / lengthOf(props.bounds);
  const drawTicks = () => {
    const context = canvas.getContext("2d")!;
    context.fillStyle = getComputedStyle(canvas).getPropertyValue("--accent");
    const pixel = (time: number) => (width() * percent(time)) / 100;
    const left = pixel(props.recording.from);
    const part = (pixel(props.recording.to) - left) / Math.max(1, props.density.length);
    props.density.forEach((count, place) => {
      if (count > 0) context.fillRect(Math.floor(left + place * part), canvas.clientHeight - 3, Math.max(1, part), 3);
    });
  };
  /** A time no finer than a thousandth of the view. */
  const coarse = (time: number) => {
    const step = 10 ** Math.max(0, Math.floor(Math.log10(lengthOf(props.view))) - 3);
    return exactTime(Math.round(time / step) * step);
  };
  const numbered = () => {
    const some = props.steps.filter((_, place) => place % Math.ceil(props.steps.length / MOST_STEP_NUMBERS) === 0);
    const widest = some.reduce((most, step) => Math.max(most, textWidth(stepMark(step.name), 11)), 0) + STEP_NUMBER_GAP_PX;
    const marks = some.map((step) => ({ step, left: percent(step.from) }));
    return apart(marks, (100 * widest) / Math.max(1, width())).map((mark) => mark.step);
  };
  const moveTo = (event: PointerEvent) => {
    const middle =
      props.bounds.from +
      ((event.clientX - map.getBoundingClientRect().left) / map.clientWidth) * lengthOf(props.bounds);
    props.look({ from: middle - lengthOf(props.view) / 2, to: middle + lengthOf(props.view) / 2 });
  };
  return (
    <div class="minimap">
      <div class="corner">
        <b>{figureText("ns", Math.round(lengthOf(props.view)))}</b>
        <span class="faint">
          {coarse(props.view.from)} – {coarse(props.view.to)}
        </span>
      </div>
      <div
        class="map"
        ref={map}
        onPointerDown={(event) => (map.setPointerCapture(event.pointerId), moveTo(event))}
        onPointerMove={(event) => event.buttons === 1 && moveTo(event)}
      >
        <canvas ref={canvas} role="img" aria-label="Minimap of the whole trace" />
        <div class="shade before" style={{ width: `${Math.max(0, percent(props.view.from))}%` }} />
        <div class="shade after" style={{ left: `${Math.min(100, percent(props.view.to))}%` }} />
        <For each={numbered()}>
          {(step) => (
            <span class="step" style={{ left: `${percent(step.from)}%` }}>
              {stepMark(step.name)}
            </span>
          )}
        </For>
        <div
          class="frame"
          style={{
            left: `${Math.max(0, percent(props.view.from))}%`,
            width: `${Math.min(100, percent(props.view.to)) - Math.max(0, percent(props.view.from))}%`,
          }}
        />
      </div>
    </div>
  );
}
