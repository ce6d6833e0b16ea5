// The events of one track in one range, as the server sends them: exact spans, and buckets where they are too small.
import { tableFromIPC, type Column } from "@uwdata/flechette";
import { CLASSES } from "../format/names";
import { askBytes } from "../server/client";
import { laneAddress, type SourceKey } from "../server/questions";

/** Columns of numbers, one entry a span or bucket; sorted by depth, then start. Times are from the first step. */
export type Lanes = {
  from: number;
  to: number;
  /** Pixels that the range was asked for. */
  width: number;
  size: number;
  /** Whether all entries are spans and none is a bucket. */
  isExact: boolean;
  depth: Int32Array;
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
};

/** What an event can be: the classes of time, and what is no work of its own. */
export const LANE_CLASSES: readonly string[] = [...CLASSES, "python", "annotation"];
const PLACES = new Map(LANE_CLASSES.map((name, place) => [name, place]));
const OTHER = PLACES.get("other")!;

export function classAt(lanes: Lanes, entry: number): string {
  return LANE_CLASSES[lanes.classOf[entry]!]!;
}

export function nameAt(lanes: Lanes, entry: number): string {
  return lanes.names[lanes.nameOf[entry]!]!;
}

export async function askLanes(
  source: SourceKey,
  track: number,
  zero: number,
  from: number,
  to: number,
  width: number,
  signal?: AbortSignal,
): Promise<Lanes> {
  const [first, last] = [Math.floor(from), Math.ceil(to)];
  const bytes = await askBytes(laneAddress(source, track, Math.max(0, zero + first), zero + last, width), signal);
  return decodeLanes(bytes, zero, first, last, width);
}

export function decodeLanes(bytes: Uint8Array, zero: number, from: number, to: number, width: number): Lanes {
  const table = tableFromIPC(bytes, { useBigInt: true });
  const numbers = (name: string, less = 0) => exactNumbers(table.getChild(name).toArray() as BigInt64Array, less);
  const [classes, names] = [words(table.getChild("class")), words(table.getChild("name"))];
  const places = classes.words.map((name) => PLACES.get(name) ?? OTHER);
  const count = numbers("count");
  const lanes: Lanes = {
    from,
    to,
    width,
    size: table.numRows,
    isExact: count.every((many) => many === 1),
    depth: table.getChild("depth").toArray() as Int32Array,
    start: numbers("start_ns", zero),
    dur: numbers("dur_ns"),
    busy: numbers("busy_ns"),
    count,
    spanId: numbers("span_id"),
    classOf: Uint8Array.from(classes.codes.map((code) => places[code]!)),
    nameOf: names.codes,
    names: names.words,
  };
  return isSorted(lanes) ? lanes : sorted(lanes);
}

/** Integers below 2^53, read as halves: a big integer for each would take most of the time of an answer. */
function exactNumbers(integers: BigInt64Array, less: number): Float64Array {
  const halves = new Int32Array(integers.buffer, integers.byteOffset, 2 * integers.length);
  const numbers = new Float64Array(integers.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = halves[2 * i + 1]! * 2 ** 32 + (halves[2 * i]! >>> 0) - less;
  return numbers;
}

/** A column of texts as the few there are, and which of them each row has. */
function words(column: Column<unknown>): { words: string[]; codes: Int32Array } {
  const batches = column.data as unknown as { length: number; values: Int32Array; dictionary: Column<string> }[];
  const codes = new Int32Array(column.length);
  let at = 0;
  for (const batch of batches) {
    codes.set(batch.values.subarray(0, batch.length), at);
    at += batch.length;
  }
  return { words: Array.from(batches[0]?.dictionary ?? [], (word) => word ?? ""), codes };
}

function isSorted({ size, depth, start }: Lanes): boolean {
  for (let i = 1; i < size; i++) {
    if (depth[i]! < depth[i - 1]! || (depth[i] === depth[i - 1] && start[i]! < start[i - 1]!)) return false;
  }
  return true;
}

function sorted(lanes: Lanes): Lanes {
  const { depth, start } = lanes;
  const order = Array.from({ length: lanes.size }, (_, i) => i).sort(
    (a, b) => depth[a]! - depth[b]! || start[a]! - start[b]!,
  );
  const pick = (values: Float64Array) => Float64Array.from(order, (i) => values[i]!);
  return {
    ...lanes,
    depth: Int32Array.from(order, (i) => depth[i]!),
    start: pick(start),
    dur: pick(lanes.dur),
    busy: pick(lanes.busy),
    count: pick(lanes.count),
    spanId: pick(lanes.spanId),
    classOf: Uint8Array.from(order, (i) => lanes.classOf[i]!),
    nameOf: Int32Array.from(order, (i) => lanes.nameOf[i]!),
  };
}

/** How many lanes from the top hold Python frames alone. */
export function pythonLanes(lanes: Lanes): number {
  const python = LANE_CLASSES.indexOf("python");
  let deepest = -1;
  for (let i = 0; i < lanes.size && lanes.classOf[i] === python; i++) deepest = lanes.depth[i]!;
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
