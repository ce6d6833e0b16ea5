import { expect, test } from "vitest";
import { sparkBars } from "./sparks";

test("few values are a bar each", () => {
  expect(sparkBars([3, 1, 2])).toEqual({ values: [3, 1, 2] });
});

test("many values keep their peaks, first and last included", () => {
  const values = Array.from({ length: 10_000 }, () => 600);
  values[0] = 900;
  values[9999] = 1000;
  const bars = sparkBars(values);
  expect(bars.values.length).toBeLessThanOrEqual(24);
  expect([bars.values[0], bars.values.at(-1)]).toEqual([900, 1000]);
  expect(bars.note).toBe("each bar is the longest of 417");
});
