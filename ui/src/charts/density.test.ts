import { expect, test } from "vitest";
import { densityColumns } from "./density";

test("every value is in one column, and a lone one can be seen", () => {
  const values = [...Array.from({ length: 9999 }, (_, place) => 600 + (place % 10)), 1080];
  const columns = densityColumns(values, { least: 560, most: 1120 }, 100);
  expect(columns.reduce((sum, column) => sum + column.steps, 0)).toBe(10_000);
  expect(columns.at(-1)).toMatchObject({ steps: 1, height: 0.05 });
  expect(Math.max(...columns.map((column) => column.height))).toBe(1);
  expect(columns.every((column) => column.to > column.from)).toBe(true);
});
