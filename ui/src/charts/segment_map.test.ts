import { expect, test } from "vitest";
import type { MapBlock, SegmentMap } from "../server/types";
import {
  blockAt,
  boxesOf,
  cachedBytes,
  firstBelow,
  fitSegments,
  hitBlock,
  layoutSegments,
  piecesOf,
  ROW_PX,
  segmentGroups,
  stuckBytes,
  walk,
} from "./segment_map";

/** A segment of blocks: a negative size is free. */
function made(sizes: number[], more: Partial<SegmentMap> = {}): SegmentMap {
  let offset = 0;
  const blocks = sizes.map((size): MapBlock => {
    const block = { offset_bytes: offset, size_bytes: Math.abs(size), requested_bytes: null, state: "", owner: null };
    offset += Math.abs(size);
    return { ...block, state: size < 0 ? "inactive" : "allocated" };
  });
  const sum = (isMeant: (size: number) => boolean) =>
    sizes.filter(isMeant).reduce((total, size) => total + Math.abs(size), 0);
  return {
    address: "0x1000",
    stream_id: 0,
    segment_type: "large",
    is_expandable: false,
    total_bytes: offset,
    allocated_bytes: sum((size) => size > 0),
    pending_bytes: 0,
    inactive_bytes: sum((size) => size < 0),
    blocks,
    ...more,
  };
}

const layout = (segments: SegmentMap[], width = 100, magnified = 1, height = 300) => {
  const groups = segmentGroups(segments);
  return layoutSegments(segments, groups, width, fitSegments(segments, groups, width, height) / magnified);
};

test("free memory is stuck beside blocks and cached alone", () => {
  expect([made([10, -5]), made([-5]), made([5])].map(stuckBytes)).toEqual([5, 0, 0]);
  expect([made([10, -5]), made([-5]), made([5])].map(cachedBytes)).toEqual([0, 5, 0]);
});

test("groups are named by stream and type, the largest first", () => {
  const segments = [made([10], { segment_type: "small" }), made([90, -9]), made([5], { is_expandable: true }), made([7])];
  expect(segmentGroups(segments).map(({ label, segments, stuckBytes }) => [label, segments, stuckBytes])).toEqual([
    ["Stream 0, large", [1, 3], 9],
    ["Stream 0, small", [0], 0],
    ["Stream 0, large, expandable", [2], 0],
  ]);
  const [bare] = segmentGroups([made([1], { stream_id: null, segment_type: null, is_expandable: null })]);
  expect(bare!.label).toBe("Segments");
});

test("segments are to scale, and the next row takes what does not fit", () => {
  const { parts, headings, height } = layout([made([100]), made([50]), made([40]), made([1])]);
  expect(parts.map(({ segment, x, width }) => [segment, Math.round(x), width])).toEqual([
    [0, 0, 100],
    [1, 0, 50],
    [2, 53, 40],
    [3, 96, 4],
  ]);
  expect(new Set(parts.slice(1).map((part) => part.y)).size).toBe(1);
  expect(parts[1]!.y).toBeGreaterThan(parts[0]!.y + ROW_PX);
  expect([headings.length, height > parts[1]!.y + ROW_PX]).toEqual([1, true]);
});

test("many segments share rows, so that the height is enough", () => {
  const many = Array.from({ length: 40 }, () => made([10]));
  expect(layout(many).height).toBeLessThanOrEqual(300);
  // More than can be seen at all keep the least width.
  const tooMany = layout(Array.from({ length: 4000 }, () => made([10])));
  expect(tooMany.height).toBeGreaterThan(300);
  expect(tooMany.parts[0]!.width).toBeCloseTo(4, 0);
});

test("a magnified segment goes on in the next row", () => {
  const { parts } = layout([made([100])], 100, 2.5);
  expect(parts.map(({ from, to, width }) => [from, to, width])).toEqual([
    [0, 40, 100],
    [40, 80, 100],
    [80, 100, 50],
  ]);
});

test("what is under the pointer is found by its bytes", () => {
  const segments = [made([30, -20, 50]), made([10])];
  const map = layout(segments);
  const y = map.parts[0]!.y + 3;
  expect([0, 29, 30, 49, 50, 99].map((x) => hitBlock(map, segments, x, y)?.block)).toEqual([0, 0, 1, 1, 2, 2]);
  expect(hitBlock(map, segments, 5, map.parts[1]!.y + 3)).toEqual({ segment: 1, block: 0 });
  expect(hitBlock(map, segments, 50, map.parts[1]!.y + 3)).toBeUndefined();
  expect(hitBlock(map, segments, 5, 3)).toBeUndefined();
  expect(firstBelow(map.parts, 1e9)).toBe(2);
  expect(blockAt(segments[0]!.blocks, 1e9)).toBe(2);
});

test("a block on two rows has two boxes", () => {
  const segments = [made([30, 40, 30])];
  const map = layout(segments, 100, 2);
  expect(boxesOf(map, segments, { segment: 0, block: 1 }).map(({ x, width }) => [x, width])).toEqual([
    [60, 40],
    [0, 40],
  ]);
  expect(boxesOf(map, segments, { segment: 7, block: 0 })).toEqual([]);
});

test("arrow keys walk along addresses and from segment to segment", () => {
  const segments = [made([30, 70]), made([10, 5, 5])];
  const groups = segmentGroups(segments);
  const go = (segment: number, block: number, by: Parameters<typeof walk>[3]) =>
    Object.values(walk(groups, segments, { segment, block }, by)!);
  expect(walk(groups, segments, undefined, "right")).toEqual({ segment: 0, block: 0 });
  expect(go(0, 0, "right")).toEqual([0, 1]);
  expect(go(0, 1, "right")).toEqual([1, 0]);
  expect(go(1, 0, "left")).toEqual([0, 1]);
  expect(go(1, 2, "right")).toEqual([1, 2]);
  expect(go(0, 1, "down")).toEqual([1, 0]);
  expect(go(0, 1, "up")).toEqual([0, 0]);
  expect(walk([], [], undefined, "down")).toBeUndefined();
});

test("blocks that share a pixel are one piece, as what most of them are", () => {
  const blocks = made([...Array.from({ length: 1000 }, (_, at) => (at % 4 === 0 ? -1 : 1)), 1000]).blocks;
  const pieces = piecesOf(blocks, { segment: 0, from: 0, to: 2000, x: 0, y: 0, width: 100 });
  expect(pieces.length).toBe(51);
  expect(pieces.slice(0, 50).every((piece) => blocks[piece.block]!.state === "allocated")).toBe(true);
  expect(pieces.at(-1)).toEqual({ left: 50, right: 100, block: 1000 });
  // A part in the middle of a segment.
  expect(piecesOf(blocks, { segment: 0, from: 1500, to: 2000, x: 0, y: 0, width: 100 })).toEqual([
    { left: 0, right: 100, block: 1000 },
  ]);
});
