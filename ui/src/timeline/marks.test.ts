import { expect, test } from "vitest";
import { parseMarks, toggled, writeMarks } from "./marks";

test("marks are read and written back, and what is none is dropped", () => {
  expect(writeMarks(parseMarks("-5:10,20:30"))).toBe("-5:10,20:30");
  expect(parseMarks("5:5,x,1:2:3,9:4")).toEqual([]);
  expect(parseMarks(undefined)).toEqual([]);
});

test("marking the same range again takes the mark away", () => {
  const once = toggled([{ from: 0, to: 1 }], { from: 2.2, to: 8 });
  expect(writeMarks(once)).toBe("0:1,2:8");
  expect(writeMarks(toggled(once, { from: 2, to: 8 }))).toBe("0:1");
});
