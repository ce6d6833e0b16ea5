import { expect, test } from "vitest";
import type { Report } from "../server/types";
import { memoryCurves, pointsIn } from "./curves";

const series = (name: string, points: [number, number][]) => ({
  kind: "series" as const,
  name,
  unit: "bytes" as const,
  points,
});
const report: Report = {
  name: "memory",
  missing: [],
  parts: [
    series("cpu_allocated_bytes", [[0, 9e12]]),
    series("gpu1_allocated_bytes", [
      [10, 1024],
      [20, 4096],
      [40, 2048],
    ]),
    series("gpu1_reserved_bytes", [[10, 1e6]]),
  ],
};

test("the device that holds the most is drawn, without what it reserves", () => {
  const [curve, ...others] = memoryCurves(report, 10);
  expect(others).toEqual([]);
  expect([curve!.title, curve!.note, curve!.axis]).toEqual(["Memory allocated", "gpu1", "4.00 KiB"]);
  expect(pointsIn(curve!, { from: 15, to: 35 })).toEqual([
    [10, 4096],
    [30, 2048],
  ]);
  expect(memoryCurves({ ...report, parts: [] }, 0)).toEqual([]);
});
