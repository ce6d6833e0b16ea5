import { expect, test } from "vitest";
import type { TimelineCurve } from "../server/types";
import { finestParts, rangeAround, shownCurves } from "./curves";

const curve = (kind: string, device: number | null, points: [number, number][]): TimelineCurve => ({
  kind,
  name: kind === "memory" ? "memory allocated" : "launch queue",
  place: kind === "memory" ? (device === null ? "cpu" : `gpu${device}`) : "stream 7",
  device,
  unit: kind === "memory" ? "bytes" : "plain",
  most: Math.max(...points.map(([, value]) => value)),
  points,
});
const all = [
  curve("memory", null, [[0, 9e12]]),
  curve("memory", 1, [
    [10, 1024],
    [20, 4096],
    [40, 2048],
  ]),
  curve("queue", 0, [[5, 3]]),
];
const whole = { from: 0, to: 50 };

test("memory of the host is drawn only where there is no other", () => {
  const shown = shownCurves(all, 10, whole);
  expect(shown.map((curve) => [curve.title, curve.note, curve.axis])).toEqual([
    ["Memory allocated", "gpu1", "4.00 KiB"],
    ["Launch queue", "stream 7", "3"],
  ]);
  expect(shownCurves(all.slice(0, 1), 0, whole).map((curve) => curve.note)).toEqual(["cpu"]);
});

test("around what is known finely the coarse curve stays", () => {
  const [coarse] = shownCurves(all, 10, whole);
  const fine = { ...coarse!, from: 20, to: 30 };
  const parts = (from: number, to: number) => finestParts(coarse!, fine, { from, to }).map((part) => part.range);
  expect(parts(-10, 60)).toEqual([
    { from: 0, to: 20 },
    { from: 20, to: 30 },
    { from: 30, to: 50 },
  ]);
  expect(parts(22, 28)).toEqual([{ from: 22, to: 28 }]);
  expect(finestParts(coarse!, undefined, { from: -10, to: 60 })[0]!.range).toEqual({ from: 0, to: 50 });
});

test("a small move asks for nothing new", () => {
  const view = { from: 1000, to: 1100 };
  const { from, to } = rangeAround(view);
  expect(from <= view.from && to >= view.to).toBe(true);
  expect(rangeAround({ from: 1010, to: 1110 })).toEqual({ from, to });
});
