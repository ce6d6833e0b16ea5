import { expect, test } from "vitest";
import type { Run } from "../server/types";
import { commonParts, comparedPart, recordingOf } from "./compared";

const run = (...sources: [number, number][]) =>
  ({ sources: sources.map(([rank, window]) => ({ rank, window })) }) as unknown as Run;
const [TWO, WINDOWS, OTHER] = [run([0, 0], [1, 0]), run([0, 0], [0, 1], [1, 0]), run([3, 0])];

test("a rank is compared if both runs have it", () => {
  expect(comparedPart(TWO, WINDOWS, {})).toEqual({});
  expect(comparedPart(TWO, WINDOWS, { rank: "1" })).toEqual({ rank: 1 });
  expect(comparedPart(WINDOWS, WINDOWS, { window: "1" })).toEqual({ window: 1 });
  // Without the window in both runs, the rank still counts.
  expect(comparedPart(TWO, WINDOWS, { rank: "0", window: "1" })).toEqual({ rank: 0 });
  expect(comparedPart(TWO, OTHER, { rank: "1" })).toEqual({});
  expect(recordingOf(OTHER, {})).toEqual({ rank: 3, window: 0 });
});

test("what can be chosen is in both runs", () => {
  expect(commonParts(TWO, WINDOWS, 0)).toEqual({ ranks: [0, 1], windows: [0] });
  expect(commonParts(WINDOWS, WINDOWS, 0)).toEqual({ ranks: [0, 1], windows: [0, 1] });
  expect(commonParts(TWO, OTHER, 0)).toEqual({ ranks: [], windows: [] });
});
