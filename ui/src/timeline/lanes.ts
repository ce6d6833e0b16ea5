// The events of one track in one range, as the server sends them: exact spans, and buckets where they are too small.
import { PATH_CLASSES } from "../format/names";

/** Columns of numbers, one entry a span or bucket; sorted by depth, then start. Times are from the first step. */
export type Lanes = {
  from: number;
  to: number;
  /** Pixels that the range was asked for. */
  width: number;
  size: number;
  /** Whether all entries are spans and none is a bucket. */
  isExact: boolean;
  /** Lanes of the track, from the top; sub-lanes are fractions. */
  depth: Float64Array;
  start: Float64Array;
  dur: Float64Array;
  busy: Float64Array;
  count: Float64Array;
  spanId: Float64Array;
  /** Places in `LANE_CLASSES`. */
  classOf: Uint8Array;
  /** Places in `names`. */
  nameOf: Int32Array;
  names: string[];
  /** How many lanes the depths need on which spans overlap. */
  subLanes?: ReadonlyMap<number, number>;
};

/** What an event can be: the classes of time, delays on a critical path, and what is no work of its own. */
export const LANE_CLASSES: readonly string[] = [...PATH_CLASSES, "python", "annotation"];

export function classAt(lanes: Lanes, entry: number): string {
  return LANE_CLASSES[lanes.classOf[entry]!]!;
}

export function nameAt(lanes: Lanes, entry: number): string {
  return lanes.names[lanes.nameOf[entry]!]!;
}

/** How many lanes from the top hold Python frames alone. */
export function pythonLanes(lanes: Lanes): number {
  const python = LANE_CLASSES.indexOf("python");
  let deepest = -1;
  for (let i = 0; i < lanes.size && lanes.classOf[i] === python; i++) deepest = Math.floor(lanes.depth[i]!);
  return deepest + 1;
}

/** The entries of one depth: first and one behind the last. */
export function depthRange(lanes: Lanes, depth: number): [number, number] {
  return [lowest(lanes.size, (i) => lanes.depth[i]! >= depth), lowest(lanes.size, (i) => lanes.depth[i]! > depth)];
}

/** Entries of one depth may overlap a little where buckets meet, so some before are looked at too. */
const OVERLAPPING = 8;

/** The first entry between two that may reach a time. */
export function firstSeen(lanes: Lanes, first: number, end: number, time: number): number {
  return Math.max(first, first + lowest(end - first, (i) => lanes.start[first + i]! > time) - OVERLAPPING);
}

/** The entry at a time on one depth, within a tolerance; -1 if there is none. */
export function entryAt(lanes: Lanes, depth: number, time: number, tolerance: number): number {
  const [first, end] = depthRange(lanes, depth);
  const behind = first + lowest(end - first, (i) => lanes.start[first + i]! > time + tolerance);
  let found = -1;
  for (let i = behind - 1; i >= Math.max(first, behind - OVERLAPPING); i--) {
    if (lanes.start[i]! + lanes.dur[i]! >= time - tolerance) {
      if (lanes.start[i]! <= time && lanes.start[i]! + lanes.dur[i]! >= time) return i;
      if (found < 0) found = i;
    }
  }
  return found;
}

/** Share of each bin that is busy with what is wanted. */
export function busyShares(
  lanes: Lanes,
  from: number,
  to: number,
  bins: number,
  wanted: (name: string, depth: number) => boolean,
): Float64Array {
  const shares = new Float64Array(bins);
  const bin = (to - from) / bins;
  for (let i = 0; i < lanes.size; i++) {
    const start = lanes.start[i]!;
    const end = start + lanes.dur[i]!;
    if (start > to || end < from || start === end || !wanted(classAt(lanes, i), lanes.depth[i]!)) continue;
    const density = lanes.busy[i]! / lanes.dur[i]!;
    const last = Math.min(bins - 1, Math.floor((end - from) / bin));
    for (let at = Math.max(0, Math.floor((start - from) / bin)); at <= last; at++) {
      const overlap = Math.min(end, from + (at + 1) * bin) - Math.max(start, from + at * bin);
      if (overlap > 0) shares[at]! += (overlap * density) / bin;
    }
  }
  return shares.map((share) => Math.min(1, share));
}

/** The smallest number below `size` for which it holds; `size` if there is none. */
export function lowest(size: number, holds: (i: number) => boolean): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
