// Spans that overlap on one lane get sub-lanes, so that nothing is drawn over anything. A sub-lane is a depth and some
// eighths: 2 is the lane of depth 2, 2.125 its first sub-lane, so that a depth alone is still a lane.
import type { Lanes } from "./lanes";

const EIGHTH = 1 / 8;
/** Lanes of one depth at most; what overlaps beyond them shares a row of columns below. */
const MOST = 4;
/** Clocks are no finer: what overlaps by less does not overlap. */
const CLOCK_NS = 10;

/** The lanes of a depth that has so many of them. */
export function lanesOfDepth(depth: number, count: number): number[] {
  return Array.from({ length: count }, (_, place) => depth + place * EIGHTH);
}

/** Whether a lane is the row for what overlaps beyond the others. */
export function isOverflow(lane: number): boolean {
  return lane - Math.floor(lane) >= MOST * EIGHTH;
}

/**
 * The depth of each entry with its sub-lane, the first that is free when it starts; undefined if nothing overlaps.
 * Entries are sorted by depth, then start. A bucket that starts inside a span overlaps it. One that a span starts in
 * tells nothing: what it holds may lie before and behind the span. So only spans take a lane. Where there are buckets,
 * what overlaps by less than a half pixel is not seen to.
 */
export function subLanes({ depth, start, dur, count, size, from, to, width, isExact }: Lanes): {
  depth: Float64Array;
  /** How many lanes the depths have that have several. */
  counts: Map<number, number>;
} | undefined {
  // Spans alone serve at every zoom.
  const slack = isExact ? CLOCK_NS : (to - from) / width / 2;
  const ends = new Float64Array(MOST);
  const counts = new Map<number, number>();
  let lanes: Float64Array | undefined;
  for (let i = 0; i < size; i++) {
    if (i === 0 || depth[i] !== depth[i - 1]) ends.fill(-Infinity);
    let sub = 0;
    while (sub < MOST && ends[sub]! > start[i]! + slack) sub++;
    if (sub > 0) {
      lanes ??= Float64Array.from(depth);
      lanes[i] = depth[i]! + sub * EIGHTH;
      counts.set(depth[i]!, Math.max(counts.get(depth[i]!) ?? 0, sub + 1));
    }
    const isSpan = count[i]! <= 1;
    if (sub < MOST && isSpan) ends[sub] = Math.max(ends[sub]!, start[i]! + dur[i]!);
  }
  return lanes && { depth: lanes, counts };
}
