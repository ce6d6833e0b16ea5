import { expect, test } from "vitest";
import { bridge, SEVERAL } from "./bridge_columns";

const CLASSES = [
  { name: "dataloader", a: 60, b: 10 },
  { name: "kernel", a: 30, b: 45 },
  { name: "memcpy", a: 5, b: 5 },
  { name: "launch_delay", a: 1, b: 4 },
  { name: "other", a: 4, b: 2 },
];

test("the bars add up from A to B, the largest change first", () => {
  const columns = bridge(CLASSES, 10);
  expect(columns.map((column) => column.label)).toEqual(["A", "DataLoader", "Kernel", "Launch", "Other", "B"]);
  expect(columns.map((column) => column.value)).toEqual([100, -50, 15, 3, -2, 66]);
  expect(columns.at(-2)!.level).toBe(66);
});

test("classes without room are one bar", () => {
  const columns = bridge(CLASSES, 3);
  expect(columns.map((column) => column.label)).toEqual(["A", "DataLoader", "Kernel", "2 more", "B"]);
  expect(columns[3]).toMatchObject({ title: "Launch delay, Other", value: 1, pieces: [{ name: SEVERAL, from: 65, to: 66 }] });
});

test("both sides are stacked in the order of the classes", () => {
  const [a] = bridge(CLASSES, 10);
  expect(a!.pieces.map((piece) => piece.name)).toEqual(["kernel", "memcpy", "dataloader", "other", "launch_delay"]);
});
