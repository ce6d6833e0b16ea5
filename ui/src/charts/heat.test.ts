import { expect, test } from "vitest";
import { heatColor, heatRows } from "./heat";

test("few ranks have a row each, in order", () => {
  expect(heatRows([0, 1, 2], () => 0).map((row) => row.label)).toEqual(["rank 0", "rank 1", "rank 2"]);
});

test("a thousand ranks fit 400 pixels, the worst on top by name", () => {
  const ranks = Array.from({ length: 1024 }, (_, rank) => rank);
  const rows = heatRows(ranks, (rank) => (rank === 700 ? 9 : 0));
  expect(rows.reduce((sum, row) => sum + row.height, 0)).toBeLessThanOrEqual(400);
  expect(rows[0]!.label).toBe("rank 700");
  expect(rows.flatMap((row) => row.ranks).toSorted((a, b) => a - b)).toEqual(ranks);
});

test("the scale meets its stops", () => {
  const stops = ["#000000", "#0a0a0a", "#141414"];
  expect([0, 0.25, 0.5, 1].map((share) => heatColor(stops, share))).toEqual([
    "rgb(0 0 0)",
    "rgb(5 5 5)",
    "rgb(10 10 10)",
    "rgb(20 20 20)",
  ]);
});
