// Memory by stack over time as bands on one another, and what lies under a pointer.
import type { MemoryTimeline } from "../server/types";

/** What one stack holds at each place; `owner` is null for all other stacks. */
export type Band = { owner: number | null; bytes: number[] };

/** The bands from the bottom up: the stack that holds most at the peak first, all others last. */
export function bandsOf(timeline: MemoryTimeline): Band[] {
  const stacks = timeline.stacks.map(({ owner, bytes }): Band => ({ owner, bytes }));
  return timeline.other_bytes.some((bytes) => bytes !== 0)
    ? [...stacks, { owner: null, bytes: timeline.other_bytes }]
    : stacks;
}

/** The upper edge of each band at each place. What is below 0, as older memory is freed, takes no height. */
export function edgesOf(bands: Band[], places: number): Float64Array[] {
  let below: Float64Array = new Float64Array(places);
  return bands.map((band) => {
    const edge = below.slice();
    for (let place = 0; place < places; place++) edge[place]! += Math.max(0, band.bytes[place] ?? 0);
    return (below = edge);
  });
}

/** The end of the axis: the last level lasts about as long as the others. */
export function endOf(at: number[]): number {
  const [first, last] = [at[0] ?? 0, at.at(-1) ?? 0];
  return last > first ? last + (last - first) / (at.length - 1) / 2 : first + 1;
}

/** The place whose level holds at a time: the last that is not after it. */
export function placeAt(at: number[], time: number): number {
  let [low, high] = [0, at.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (at[middle]! <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The band that a level of bytes lies in; undefined above all of them. */
export function bandAt(edges: Float64Array[], place: number, bytes: number): number | undefined {
  const found = bytes < 0 ? -1 : edges.findIndex((edge) => bytes < edge[place]!);
  return found < 0 ? undefined : found;
}

/** Reserved memory this many times what is active would leave no height for the bands. */
const MOST_TIMES = 4;

export type Levels = { least: number; most: number; showsReserved: boolean };

/** What the axis of bytes covers. */
export function levelsOf(timeline: MemoryTimeline): Levels {
  const largest = (values: number[]) => values.reduce((most, value) => Math.max(most, value), 0);
  const [active, reserved] = [largest(timeline.active_bytes), largest(timeline.reserved_bytes)];
  const showsReserved = reserved > 0 && reserved <= MOST_TIMES * active;
  const least = timeline.active_bytes.reduce((least, value) => Math.min(least, value), 0);
  return { least, most: Math.max(1, active, showsReserved ? reserved : 0) * 1.03, showsReserved };
}

const BYTE_UNITS: [number, string][] = [
  [1024 ** 4, "TiB"],
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
  [1, "B"],
];

/** What an axis of bytes up to this counts in. */
export function byteUnit(most: number): { bytes: number; symbol: string } {
  const [bytes, symbol] = BYTE_UNITS.find(([unit]) => most >= unit) ?? BYTE_UNITS.at(-1)!;
  return { bytes, symbol };
}
