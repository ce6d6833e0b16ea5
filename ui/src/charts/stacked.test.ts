import { expect, test } from "vitest";
import type { MemoryTimeline } from "../server/types";
import { bandAt, bandsOf, byteUnit, edgesOf, endOf, levelsOf, placeAt } from "./stacked";

const timeline = (more: Partial<MemoryTimeline> = {}): MemoryTimeline => ({
  at: [0, 10, 40],
  has_times: true,
  is_relative: false,
  active_bytes: [30, 100, 60],
  reserved_bytes: [120, 120, 120],
  stacks: [
    { owner: 4, bytes: [20, 60, 20] },
    { owner: 1, bytes: [10, 30, 40] },
  ],
  other_bytes: [0, 10, 0],
  peak: 1,
  ...more,
});

test("bands add up to what is active", () => {
  const bands = bandsOf(timeline());
  expect(bands.map((band) => band.owner)).toEqual([4, 1, null]);
  expect([...edgesOf(bands, 3).at(-1)!]).toEqual([30, 100, 60]);
  expect(bandsOf(timeline({ other_bytes: [0, 0, 0] })).length).toBe(2);
});

test("what is below 0 takes no height", () => {
  const bands = [{ owner: 0, bytes: [-5, 5] }, { owner: 1, bytes: [7, 7] }];
  expect(edgesOf(bands, 2).map((edge) => [...edge])).toEqual([[0, 5], [7, 12]]);
});

test.each([
  [-5, 0],
  [0, 0],
  [9.9, 0],
  [10, 1],
  [39, 1],
  [40, 2],
  [1000, 2],
])("the level at %d is that of place %d", (time, place) => expect(placeAt([0, 10, 40], time)).toBe(place));

test("the band under a pointer", () => {
  const edges = edgesOf(bandsOf(timeline()), 3);
  expect([0, 59, 60, 89, 90, 99, 100, -1].map((bytes) => bandAt(edges, 1, bytes))).toEqual([
    0, 0, 1, 1, 2, 2, undefined, undefined,
  ]);
  // A band without bytes is never under it.
  expect(bandAt(edges, 0, 29)).toBe(1);
});

test("the last level has a width, also if there is only one", () => {
  expect(endOf([0, 10, 40])).toBe(50);
  expect(endOf([7])).toBe(8);
  expect(endOf([])).toBe(1);
});

test("reserved memory far above what is active leaves the axis to it", () => {
  expect(levelsOf(timeline()).showsReserved).toBe(true);
  expect(levelsOf(timeline()).most).toBeCloseTo(123.6);
  const far = levelsOf(timeline({ reserved_bytes: [900, 900, 900] }));
  expect([far.showsReserved, far.most]).toEqual([false, 103]);
  expect(levelsOf(timeline({ active_bytes: [0, -20, 5], reserved_bytes: [] })).least).toBe(-20);
});

test.each([
  [0, "B"],
  [2048, "KiB"],
  [12_660_506_624, "GiB"],
])("%d bytes count in %s", (bytes, symbol) => expect(byteUnit(bytes).symbol).toBe(symbol));
