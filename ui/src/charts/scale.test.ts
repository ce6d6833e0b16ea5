import { expect, test } from "vitest";
import { apart, ticks, tickText } from "./scale";

test("ticks are round and inside", () => {
  expect(ticks(0, 187.9, 4)).toEqual([0, 50, 100, 150]);
  expect(ticks(345.5, 548.5, 10)).toEqual([360, 380, 400, 420, 440, 460, 480, 500, 520, 540]);
  expect(ticks(0, 0, 4)).toEqual([]);
});

test("ticks are written without noise", () => {
  expect([0, 0.1 + 0.2, 1200, -5].map(tickText)).toEqual(["0", "0.3", "1,200", "−5"]);
});

test("marks that would run into each other or over the edge go", () => {
  const marks = [0, 4, 10, 19, 21, 97].map((left) => ({ left }));
  expect(apart(marks, 10).map((mark) => mark.left)).toEqual([0, 10, 21]);
});
