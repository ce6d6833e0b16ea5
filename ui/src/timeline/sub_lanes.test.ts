import { expect, test } from "vitest";
import type { Lanes } from "./lanes";
import { isOverflow, lanesOfDepth, subLanes } from "./sub_lanes";

type Entry = [depth: number, start: number, end: number, count?: number];

function lanesOf(entries: Entry[], isExact = false): Lanes {
  const column = (value: (entry: Entry) => number) => Float64Array.from(entries, value);
  return {
    from: 0,
    to: 1000,
    width: 1000,
    isExact,
    size: entries.length,
    depth: column(([depth]) => depth),
    start: column(([, start]) => start),
    dur: column(([, start, end]) => end - start),
    count: column(([, , , count]) => count ?? 1),
  } as Lanes;
}
const split = (entries: Entry[], isExact?: boolean) => Array.from(subLanes(lanesOf(entries, isExact))?.depth ?? []);

test("what follows or nests stays where it is", () => {
  expect(subLanes(lanesOf([[0, 0, 10], [0, 10, 20], [1, 2, 8]]))).toBeUndefined();
});

test("spans that overlap go below each other, and up again when there is room", () => {
  expect(split([[0, 0, 30], [0, 10, 20], [0, 15, 40], [0, 22, 25], [0, 31, 50]])).toEqual([0, 0.125, 0.25, 0.125, 0]);
  expect(subLanes(lanesOf([[0, 0, 30], [0, 10, 20], [3, 5, 9], [3, 6, 8], [3, 7, 8]]))?.counts).toEqual(
    new Map([[0, 2], [3, 3]]),
  );
});

test("beyond four they share a row", () => {
  const found = split([0, 1, 2, 3, 4, 5].map((start): Entry => [0, start, 100]));
  expect(found).toEqual([0, 0.125, 0.25, 0.375, 0.5, 0.5]);
  expect(found.map(isOverflow)).toEqual([false, false, false, false, true, true]);
  expect(lanesOfDepth(2, 3)).toEqual([2, 2.125, 2.25]);
});

test("buckets add up in one lane, and go below a span that they start in", () => {
  expect(split([[0, 0, 12, 5], [0, 10, 20, 4]])).toEqual([]);
  expect(split([[0, 0, 100], [0, 10, 20, 4], [0, 15, 25, 4], [0, 22, 40]])).toEqual([0, 0.125, 0.125, 0.125]);
});

test("a span between the spans of a bucket overlaps nothing", () => {
  expect(split([[0, 0, 30, 2], [0, 10, 25], [0, 30, 60]])).toEqual([]);
});

test("an overlap that no pixel and no clock shows is none", () => {
  expect(split([[0, 0, 10.4], [0, 10, 20]])).toEqual([]);
  expect(split([[0, 0, 110], [0, 100, 200]], true)).toEqual([]);
  expect(split([[0, 0, 111], [0, 100, 200]], true)).toEqual([0, 0.125]);
});
