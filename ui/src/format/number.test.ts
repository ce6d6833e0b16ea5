import { describe, expect, test } from "vitest";
import type { Cell, Unit } from "../server/types";
import { exactTime, figureText, formatOf, formatOfHeader, rangeText, show, symbolOf } from "./number";

function column(unit: Unit, cells: Cell[]): string[] {
  const format = formatOf(unit, cells);
  return [symbolOf(format), ...cells.map((cell) => show(format, cell))];
}

describe("one unit a column", () => {
  const cases: [Unit, Cell[], string[]][] = [
    ["plain", [0, 999, 1000, -1234567], ["", "0", "999", "1,000", "−1,234,567"]],
    ["plain", [100.649, 2], ["", "100.649", "2.000"]],
    ["id", [1934443], ["", "1934443"]],
    ["ns", [999, 0], ["ns", "999", "0"]],
    ["ns", [604_000, 9_000], ["µs", "604", "9"]], // A clock of whole microseconds.
    ["ns", [604_000, 12_940], ["µs", "604.0", "12.9"]],
    ["ns", [142_460_000, 34_245_000, 1], ["ms", "142.46", "34.25", "< 0.01"]], // Half away from zero.
    ["ns", [1_533_540_000], ["ms", "1,533.54"]],
    ["ns", [12_000_500_000], ["s", "12.001"]],
    ["ns", [724_000_000_000, 1_000_000_000], ["", "12 min 04 s", "0 min 01 s"]],
    ["ns", [1_775_167_061_388_202_755n], ["ns", "1,775,167,061,388,202,755"]], // A point in time.
    ["bytes", [0, 1023], ["B", "0", "1,023"]],
    ["bytes", [1536, 12], ["KiB", "1.50", "0.01"]],
    ["bytes", [2_791_728_742], ["GiB", "2.60"]],
    ["moved_bytes", [115_605_504], ["MB", "115.61"]],
    ["gb_per_s", [10.06], ["GB/s", "10.1"]],
    ["flops", [2.5e12], ["TFLOP", "2.50"]],
    ["ratio", [0, 0.0004, 0.123, 1, -0.05, NaN, null], ["", "0 %", "< 0.1 %", "12.3 %", "100.0 %", "−5.0 %", "–", "–"]],
  ];
  test.each(cases)("%s %#", (unit, cells, want) => expect(column(unit, cells)).toEqual(want));
});

describe("figures have four digits", () => {
  const cases: [Unit, Cell, string][] = [
    ["ns", 177_592_000, "177.6 ms"],
    ["ns", 177_592_166.67, "177.6 ms"],
    ["ns", 98_590_000, "98.59 ms"],
    ["ns", 604_000, "604 µs"],
    ["ns", 1_066_000_000, "1.066 s"],
    ["ns", 12_345_600_000, "12.35 s"],
    ["ns", 724_000_000_000, "12 min 04 s"],
    ["ns", 0, "0 ns"],
    ["bytes", 2_791_728_742, "2.60 GiB"],
    ["ratio", 0.5551, "55.5 %"],
    ["ratio", 0, "0 %"],
    ["ns", null, "–"],
  ];
  test.each(cases)("%s %#", (unit, cell, want) => expect(figureText(unit, cell)).toBe(want));
});

test("a header may carry the unit", () => {
  const format = formatOfHeader("ns", "ms per step")!;
  const values = [98_591_167, 1_915_000, 89_000, 0, 187_912_000];
  expect(values.map((ns) => show(format, ns))).toEqual(["98.59", "1.92", "0.089", "0", "187.9"]);
  expect(formatOfHeader("ns", "makes others wait")).toBeUndefined();
});

test("details have all recorded digits", () => {
  expect([604_000, 426_402_000, 60_912_001, 1_066_000_000, 7, -4_200_000].map(exactTime)).toEqual([
    "604 µs",
    "426.402 ms",
    "60.912001 ms",
    "1.066 s",
    "7 ns",
    "−4.2 ms",
  ]);
});

test.each([
  [31_200_000, 36_400_000.4, "31.20 to 36.40 ms"],
  [0, 36_400_000, "0 ns to 36.40 ms"],
  [900_000, 1_200_000, "900 µs to 1.20 ms"],
])("a range of %s to %s", (low, high, want) => expect(rangeText(low, high)).toBe(want));
