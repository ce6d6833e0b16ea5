import { expect, test } from "vitest";
import { matchWords, viewOnMatch, walkFrom } from "./walk";

const view = { from: 1_000_000, to: 2_000_000 };
const bounds = { from: 0, to: 100_000_000 };

test("a walk begins at the left edge of the view", () => {
  expect(walkFrom(view, undefined)).toEqual({ time: 1_000_000, spanId: undefined });
});

test("a walk goes on from the selected event while that starts on screen", () => {
  expect(walkFrom(view, { start: 1_500_000, spanId: 7 })).toEqual({ time: 1_500_000, spanId: 7 });
  // Scrolled away, and a long event that covers the view from before it.
  expect(walkFrom(view, { start: 5_000_000, spanId: 7 })).toEqual({ time: 1_000_000, spanId: undefined });
  expect(walkFrom(view, { start: 0, spanId: 7 })).toEqual({ time: 1_000_000, spanId: undefined });
});

test("a step shows the match whole and wide enough to see", () => {
  const check = (from: number, to: number, want: { from: number; to: number }) =>
    expect(viewOnMatch(view, { from, to }, bounds)).toEqual(want);
  check(1_400_000, 1_450_000, view);
  // A dot is zoomed to, an instant not to the last nanosecond.
  check(1_500_000, 1_501_000, { from: 1_485_500, to: 1_515_500 });
  check(1_500_000, 1_500_000, { from: 1_495_000, to: 1_505_000 });
  // Beside the view: moved; longer than it: zoomed out.
  check(4_000_000, 4_100_000, { from: 3_550_000, to: 4_550_000 });
  check(4_000_000, 9_000_000, { from: 3_500_000, to: 9_500_000 });
});

test("the count says which match of how many", () => {
  expect(matchWords(424, 1266)).toBe("424 of 1,266 matches");
  expect(matchWords(undefined, 17_472)).toBe("17,472 matches");
  expect(matchWords(1, 1)).toBe("1 of 1 match");
  expect(matchWords(undefined, 0)).toBe("No matches");
  expect(matchWords(undefined, undefined)).toBe("Searching");
  expect(matchWords(3, 5, true)).toBe("Search failed");
});
