// Round numbers for axes.
import { count } from "../format/number";

/** Steps of 1, 2 or 5 times a power of ten, about so many up to the largest value. */
export function ticks(from: number, to: number, about: number): number[] {
  const step = roundStep((to - from) / Math.max(1, about));
  if (!(step > 0) || !Number.isFinite(step)) return [];
  const found: number[] = [];
  for (let at = Math.ceil(from / step); at * step <= to; at++) found.push(at * step);
  return found;
}

/** The text of a tick, without the noise of binary fractions. */
export function tickText(tick: number): string {
  const rounded = Math.round(tick * 1000) / 1000;
  return Number.isInteger(rounded) ? count(rounded) : String(rounded);
}

export function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = rough / power;
  return power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
}

/** Marks from left to right without those that would run into the one before or over the right edge. */
export function apart<M extends { left: number }>(marks: M[], least: number, right = 100): M[] {
  const kept: M[] = [];
  for (const mark of marks)
    if (mark.left + least <= right && (kept.length === 0 || mark.left - kept.at(-1)!.left >= least))
      kept.push(mark);
  return kept;
}

/** What an axis of times counts in. */
export type TimeUnit = { ns: number; symbol: "µs" | "ms" | "s" };

/** The unit for times up to this. */
export function timeUnit(largestNs: number): TimeUnit {
  if (largestNs < 1e6) return { ns: 1e3, symbol: "µs" };
  return largestNs < 10e9 ? { ns: 1e6, symbol: "ms" } : { ns: 1e9, symbol: "s" };
}
