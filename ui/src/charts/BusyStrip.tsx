// How busy the devices are along the recording, with data loading at the foot.
import { createEffect, createSignal, onCleanup, onMount, type JSX } from "solid-js";
import type { Whole } from "../timeline/whole";
import { theme } from "../state/theme";

const FOOT_PX = 4;

/** Draws onto a canvas; a column is two pixels. */
export function drawBusy(
  canvas: HTMLCanvasElement,
  whole: Whole,
  range: { from: number; to: number },
  top: number,
): void {
  const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
  if (width === 0) return;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  const color = (name: string) => getComputedStyle(canvas).getPropertyValue(name);
  const share = (values: Float64Array, x: number) => {
    const at = (pixel: number) =>
      ((range.from + ((range.to - range.from) * pixel) / width - whole.from) / (whole.to - whole.from)) * values.length;
    const [first, last] = [Math.max(0, Math.floor(at(x))), Math.min(values.length - 1, Math.ceil(at(x + 2)) - 1)];
    let sum = 0;
    for (let i = first; i <= last; i++) sum += values[i]!;
    return last < first ? 0 : sum / (last - first + 1);
  };
  const tall = height - top;
  for (let x = 0; x < width; x += 2) {
    const busy = share(whole.busy, x);
    context.fillStyle = color(whole.isDevice ? "--kernel" : "--cpu_exec");
    if (busy > 0.004) context.fillRect(x, height - Math.max(1, busy * tall), 2, Math.max(1, busy * tall));
    if (share(whole.loading, x) > 0.25) {
      context.fillStyle = color("--dataloader");
      context.fillRect(x, height - FOOT_PX, 2, FOOT_PX);
    }
  }
}

export function BusyStrip(props: {
  whole: Whole | undefined;
  range: { from: number; to: number };
  top?: number;
  label: string;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [width, setWidth] = createSignal(0);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(canvas.clientWidth));
    observer.observe(canvas);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    theme();
    if (width() > 0 && props.whole) drawBusy(canvas, props.whole, props.range, props.top ?? 0);
  });
  return <canvas ref={canvas} class="busy-strip" role="img" aria-label={props.label} />;
}
