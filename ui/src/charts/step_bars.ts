// Steps as the bars of a chart: one each, or several together where there are more than fit.
import { CLASSES } from "../format/names";
import { count, show, formatOfHeader } from "../format/number";

export type ChartStep = { step: number; name: string; dur: number; shares: number[]; isComplete: boolean };

/** Times of a bar that stands for several steps: shares and `dur` are means, as only means add up. */
export type StepBar = {
  first: ChartStep;
  last: ChartStep;
  size: number;
  dur: number;
  least: number;
  median: number;
  most: number;
  shares: number[];
  isComplete: boolean;
};

export function stepBars(steps: ChartStep[], mostBars: number): StepBar[] {
  const size = Math.max(1, Math.ceil(steps.length / Math.max(1, mostBars)));
  const bars: StepBar[] = [];
  for (let at = 0; at < steps.length; at += size) {
    const members = steps.slice(at, at + size);
    const mean = (value: (step: ChartStep) => number) =>
      members.reduce((sum, step) => sum + value(step), 0) / members.length;
    const durations = members.map((step) => step.dur).sort((a, b) => a - b);
    bars.push({
      first: members[0]!,
      last: members.at(-1)!,
      size: members.length,
      dur: mean((step) => step.dur),
      least: durations[0]!,
      median: durations[Math.ceil(durations.length / 2) - 1]!,
      most: durations.at(-1)!,
      shares: CLASSES.map((_, place) => mean((step) => step.shares[place] ?? 0)),
      isComplete: members.every((step) => step.isComplete),
    });
  }
  return bars;
}

/** What a chart of bars says about itself; nothing if every bar is one step. */
export function barNote(bars: StepBar[]): string | undefined {
  const size = bars[0]?.size ?? 1;
  return size > 1 ? `each bar is the mean of ${count(size)} steps; the line shows min to max` : undefined;
}

/** Steps are shown in milliseconds, unless all are shorter than one or the longest takes many seconds. */
export function chartUnit(longestNs: number): "s" | "ms" | "µs" {
  return longestNs >= 1e10 ? "s" : longestNs >= 1e6 ? "ms" : "µs";
}

export const UNIT_NS = { s: 1e9, ms: 1e6, µs: 1e3 };

/** Pixels that a text of the chart takes at most, at the size of labels. */
export function textWidth(text: string, fontPx = 12): number {
  return Math.ceil(text.length * fontPx * 0.62);
}

/** The widest total that stands above a bar, in pixels. */
export function widestTotal(bars: StepBar[], unit: "s" | "ms" | "µs"): number {
  const format = formatOfHeader("ns", unit)!;
  return bars.reduce((widest, bar) => Math.max(widest, textWidth(show(format, Math.round(bar.dur)))), 0);
}
