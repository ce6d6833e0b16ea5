// From the bytes of an answer to lanes.
import { tableFromIPC, type Column } from "@uwdata/flechette";
import { LANE_CLASSES, type Lanes } from "./lanes";
import { subLanes } from "./sub_lanes";

const PLACES = new Map(LANE_CLASSES.map((name, place) => [name, place]));
const OTHER = PLACES.get("other")!;

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
    depth: Float64Array.from(table.getChild("depth").toArray() as Int32Array),
    start: numbers("start_ns", zero),
    dur: numbers("dur_ns"),
    busy: numbers("busy_ns"),
    count,
    spanId: numbers("span_id"),
    classOf: Uint8Array.from(classes.codes.map((code) => places[code]!)),
    nameOf: names.codes,
    names: names.words,
  };
  const inOrder = isSorted(lanes) ? lanes : sorted(lanes);
  const split = subLanes(inOrder);
  return split ? sorted({ ...inOrder, depth: split.depth, subLanes: split.counts }) : inOrder;
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
    depth: pick(depth),
    start: pick(start),
    dur: pick(lanes.dur),
    busy: pick(lanes.busy),
    count: pick(lanes.count),
    spanId: pick(lanes.spanId),
    classOf: Uint8Array.from(order, (i) => lanes.classOf[i]!),
    nameOf: Int32Array.from(order, (i) => lanes.nameOf[i]!),
  };
}
