// Curves below the streams of a device: memory, launches that wait, counters of the trace.
import type { TimelineCurve } from "../server/types";
import { counterWords } from "./counter_names";
import type { Range } from "./view";

/** Times are from the first step; each value holds until the next. The range is what was asked for. */
export type Curve = Range & {
  key: string;
  title: string;
  note: string;
  isCounter: boolean;
  device: number | null;
  most: number;
  axis: string;
  times: Float64Array;
  values: Float64Array;
};

/** The curves that are drawn: of memory those of devices, and the host's only where there are none. */
export function shownCurves(all: TimelineCurve[], zero: number, range: Range): Curve[] {
  const isHost = (curve: TimelineCurve) => curve.kind === "memory" && curve.device === null;
  const hasDeviceMemory = all.some((curve) => curve.kind === "memory" && !isHost(curve));
  return all
    .filter((curve) => curve.most > 0 && !(hasDeviceMemory && isHost(curve)))
    .map((curve) => ({
      ...range,
      key: [curve.kind, curve.name, curve.place, curve.device].join("|"),
      ...counterWords(curve.name, curve.unit, curve.most),
      note: curve.place,
      isCounter: curve.kind === "counter",
      device: curve.device,
      most: curve.most,
      times: Float64Array.from(curve.points, ([time]) => time - zero),
      values: Float64Array.from(curve.points, ([, value]) => value),
    }));
}

/** A curve for each part of a range: the fine one where it is known, the coarse one around it. */
export function finestParts(
  coarse: Curve,
  fine: Curve | undefined,
  range: Range,
): { curve: Curve; range: Range }[] {
  const clip = (from: number, to: number) => ({ from: Math.max(range.from, from), to: Math.min(range.to, to) });
  const parts = fine
    ? [
        { curve: coarse, range: clip(coarse.from, fine.from) },
        { curve: fine, range: clip(fine.from, fine.to) },
        { curve: coarse, range: clip(fine.to, coarse.to) },
      ]
    : [{ curve: coarse, range: clip(coarse.from, coarse.to) }];
  return parts.filter((part) => part.range.from < part.range.to);
}

/** A range around a view that stays the same while the view moves and zooms a little. */
export function rangeAround(view: Range): Range {
  const length = 2 ** Math.ceil(Math.log2(2 * (view.to - view.from)));
  const from = Math.floor(view.from / (length / 4)) * (length / 4);
  return { from, to: from + length };
}
