import { expect, test } from "vitest";
import { ticks, tickText } from "./scale";

test("ticks are round and inside", () => {
  expect(ticks(0, 187.9, 4)).toEqual([0, 50, 100, 150]);
  expect(ticks(345.5, 548.5, 10)).toEqual([360, 380, 400, 420, 440, 460, 480, 500, 520, 540]);
  expect(ticks(0, 0, 4)).toEqual([]);
});

test("ticks are written without noise", () => {
  expect([0, 0.1 + 0.2, 1200, -5].map(tickText)).toEqual(["0", "0.3", "1,200", "−5"]);
});
