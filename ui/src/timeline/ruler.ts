// The head of the lanes: times, the length of what is chosen, and the steps.
import { exactTime, figureText } from "../format/number";
import type { Palette } from "./palette";
import { LABEL_FONT_PX, textWidth } from "./text";
import { lengthOf, rulerFormat, TICK_PX, type Range } from "./view";

export type RulerStep = Range & { name: string; isComplete: boolean };

export const RULER_PX = 26;
export const STEPS_PX = 25;
const LEAST_STEP_PX = 2;
const LEAST_LABEL_PX = 12;
const LABEL_GAP_PX = 12;

export function drawRuler(
  context: CanvasRenderingContext2D,
  width: number,
  view: Range,
  steps: RulerStep[],
  palette: Palette,
  range: Range | undefined,
  marks: Range[],
): void {
  const x = (time: number) => ((time - view.from) / lengthOf(view)) * width;
  const { step, text } = rulerFormat(view, width / TICK_PX);
  context.font = `${LABEL_FONT_PX}px ${palette.sans}`;
  context.textBaseline = "middle";
  // Far from the zero, close up, a time has more digits than fit between two lines.
  const every = Math.ceil((textWidth(context, text(view.to)) + LABEL_GAP_PX) / ((step / lengthOf(view)) * width));
  for (let at = Math.ceil(view.from / step); at * step <= view.to; at++) {
    const left = Math.round(x(at * step));
    context.fillStyle = palette.line;
    context.fillRect(left, RULER_PX - 7, 1, 7 + STEPS_PX);
    if (at % every !== 0) continue;
    context.fillStyle = palette.ink2;
    context.fillText(text(at * step), left + 5, RULER_PX / 2);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, RULER_PX - 1, width, 1);
  context.fillRect(0, RULER_PX + STEPS_PX - 1, width, 1);
  drawSteps(context, width, steps, palette, x, RULER_PX);
  for (const mark of marks) drawLength(context, width, mark, palette, x, false);
  if (range) drawLength(context, width, range, palette, x, true);
}

/** A row of steps, from a height on. */
export function drawSteps(
  context: CanvasRenderingContext2D,
  width: number,
  steps: RulerStep[],
  palette: Palette,
  x: (time: number) => number,
  top: number,
): void {
  let drawnTo = -Infinity;
  context.lineWidth = 1;
  for (const step of steps) {
    const left = x(step.from);
    const right = x(step.to);
    // Of steps that lie closer than their edges, one is drawn for all.
    if (right < 0 || left > width || right < drawnTo + LEAST_STEP_PX) continue;
    drawnTo = right;
    const [from, to] = [Math.max(-2, Math.round(left)), Math.min(width + 2, Math.round(right))];
    context.fillStyle = palette.surface;
    context.fillRect(from, top + 4, to - from - 1, STEPS_PX - 9);
    context.strokeStyle = palette.lineStrong;
    if (!step.isComplete) context.setLineDash([3, 3]);
    context.strokeRect(from + 0.5, top + 4.5, to - from - 1, STEPS_PX - 10);
    if (!step.isComplete) context.setLineDash([]);
    const room = Math.min(width, right) - Math.max(0, left) - 12;
    if (room < LEAST_LABEL_PX) continue;
    const label = `${step.name} · ${figureText("ns", Math.round(lengthOf(step)))}`;
    const shown = [label, step.name].find((text) => textWidth(context, text) <= room);
    context.fillStyle = palette.ink;
    if (shown) context.fillText(shown, Math.max(0, left) + 7, top + STEPS_PX / 2);
  }
}

/** The measured length rides on the ruler; that of a mark only where it is seen. */
function drawLength(
  context: CanvasRenderingContext2D,
  width: number,
  range: Range,
  palette: Palette,
  x: (time: number) => number,
  isChosen: boolean,
): void {
  const [left, right] = [x(range.from), x(range.to)];
  if (!isChosen && (right < 0 || left > width)) return;
  const text = exactTime(lengthOf(range));
  context.font = `600 12px ${palette.sans}`;
  const wide = context.measureText(text).width + 14;
  const middle = Math.max(wide / 2, Math.min(width - wide / 2, (left + right) / 2));
  context.fillStyle = palette.accent;
  context.fillRect(Math.max(0, left), RULER_PX - 2, Math.min(width, right) - Math.max(0, left), 1);
  context.beginPath();
  context.roundRect(middle - wide / 2 + 0.5, 3.5, wide - 1, 18, 3);
  context.fillStyle = isChosen ? palette.accent : palette.surface;
  context.fill();
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = isChosen ? palette.onAccent : palette.accent;
  context.fillText(text, middle - wide / 2 + 7, 13);
  context.font = `${LABEL_FONT_PX}px ${palette.sans}`;
}
