// Curves below the streams of a device: memory, launches that wait, counters of the trace.
import { sentenceCase } from "../format/names";
import { figureText } from "../format/number";
import type { TimelineCurve } from "../server/types";
import { lowest } from "./lanes";
import type { Range } from "./view";

/** Times are from the first step; each value holds until the next. The range is what was asked for. */
export type Curve = Range & {
  key: string;
  title: string;
  note: string;
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
      title: sentenceCase(curve.name),
      note: curve.place,
      device: curve.device,
      most: curve.most,
      axis: figureText(curve.unit, curve.most),
      times: Float64Array.from(curve.points, ([time]) => time - zero),
      values: Float64Array.from(curve.points, ([, value]) => value),
    }));
}

/** The part of a curve that a view shows: the point before it, and those in it. */
export function pointsIn(curve: Curve, view: Range): [number, number][] {
  const first = lowest(curve.times.length, (i) => curve.times[i]! >= view.from);
  const points: [number, number][] = [];
  for (let i = Math.max(0, first - 1); i < curve.times.length && curve.times[i]! <= view.to; i++)
    points.push([curve.times[i]!, curve.values[i]!]);
  return points;
}

/** A range around a view that stays the same while the view moves and zooms a little. */
export function rangeAround(view: Range): Range {
  const length = 2 ** Math.ceil(Math.log2(2 * (view.to - view.from)));
  const from = Math.floor(view.from / (length / 4)) * (length / 4);
  return { from, to: from + length };
}
