// The range on screen, and how it moves. Times are nanoseconds from the first step.
import { roundStep } from "../charts/scale";

export type Range = { from: number; to: number };

/** The smallest view. */
const SMALLEST_NS = 100;
/** How far a view may reach beyond the recording. */
const MARGIN = 0.02;

export function lengthOf(range: Range): number {
  return range.to - range.from;
}

/** The nearest range inside of the recording and its margin. */
export function clamp(view: Range, bounds: Range): Range {
  const margin = lengthOf(bounds) * MARGIN;
  const [low, high] = [bounds.from - margin, bounds.to + margin];
  const length = Math.min(high - low, Math.max(SMALLEST_NS, lengthOf(view)));
  const from = Math.min(high - length, Math.max(low, view.from));
  return { from, to: from + length };
}

/** Makes the view shorter by a factor; the time under the cursor stays where it is. */
export function zoomAbout(view: Range, time: number, factor: number, bounds: Range): Range {
  const length = Math.max(SMALLEST_NS, lengthOf(view) / factor);
  const share = (time - view.from) / lengthOf(view);
  const from = time - share * length;
  return clamp({ from, to: from + length }, bounds);
}

export function panBy(view: Range, ns: number, bounds: Range): Range {
  return clamp({ from: view.from + ns, to: view.to + ns }, bounds);
}

/** A range with some air around it. */
export function fitted(range: Range, bounds: Range, air = 0.06): Range {
  const more = Math.max(SMALLEST_NS, lengthOf(range)) * air;
  return clamp({ from: range.from - more, to: range.to + more }, bounds);
}

/** The step to open on: the one of median length, so that it is a typical one. */
export function typicalStep<T extends Range>(steps: T[]): T | undefined {
  const byLength = [...steps].sort((a, b) => lengthOf(a) - lengthOf(b));
  return byLength[Math.floor((byLength.length - 1) / 2)];
}

export function parseView(text: string | undefined): Range | undefined {
  const match = /^(-?\d+),(-?\d+)$/.exec(text ?? "");
  if (!match) return undefined;
  const range = { from: Number(match[1]), to: Number(match[2]) };
  return range.to > range.from ? range : undefined;
}

export function writeView(view: Range): string {
  return `${Math.round(view.from)},${Math.round(view.to)}`;
}

/** Ticks of the ruler are about so far apart. */
export const TICK_PX = 95;

/** How the ruler writes times: one unit, and as many decimals as the distance of its ticks needs. */
export function rulerFormat(view: Range, about: number): { step: number; text: (ns: number) => string } {
  const step = roundStep(lengthOf(view) / Math.max(1, about));
  const largest = Math.max(Math.abs(view.from), Math.abs(view.to));
  const [unit, symbol] = largest >= 10e9 ? [1e9, "s"] : largest >= 1e7 ? [1e6, "ms"] : [1e3, "µs"];
  const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return { step, text: (ns) => `${(ns / unit).toFixed(decimals).replace(/^-/, "−")} ${symbol}` };
}
