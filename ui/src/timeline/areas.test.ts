import { expect, test } from "vitest";
import { Areas } from "./areas";
import { Rectangles } from "./painter";
import type { Palette } from "./palette";

const palette = { sunken: "#000000", ink2: "#222222", ink3: "#333333" } as Palette;
const LINE = 0x33;
const row = { y: 100, height: 50 };

/** Start, end, top and bottom of what is drawn, areas and lines apart. */
function drawn(times: number[], values: number[], range: { from: number; to: number }) {
  const rectangles = new Rectangles();
  const stairs = { times: Float64Array.from(times), values: Float64Array.from(values), most: 40 };
  new Areas(rectangles, 0, 1, palette).add(stairs, range, row);
  const all = Array.from({ length: rectangles.size }, (_, i) => {
    const [start, end, top, height] = rectangles.rects.subarray(4 * i, 4 * i + 4);
    return { box: [start!, end!, top!, top! + height!], isLine: (rectangles.looks[2 * i]! & 255) === LINE };
  });
  const boxes = (isLine: boolean) => all.filter((one) => one.isLine === isLine).map((one) => one.box);
  return { areas: boxes(false), lines: boxes(true) };
}

test("each value holds until the next, the first from before the range and the last to its end", () => {
  const { areas } = drawn([0, 50], [10, 40], { from: 20, to: 90 });
  expect(areas).toEqual([
    [20, 50, 136, 146],
    [50, 90, 106, 146],
  ]);
});

test("what changes within a column is one column from the least to the largest", () => {
  const { areas, lines } = drawn([10, 10.5, 11, 30], [10, 40, 20, 10], { from: 0, to: 60 });
  expect(areas).toEqual([
    [10, 11, 106, 146],
    [11, 30, 126, 146],
    [30, 60, 136, 146],
  ]);
  // From the floor, where nothing was before, to the largest.
  expect(lines[0]).toEqual([10, 11, 106, 147]);
});

test("however many values there are, a screen has a few rectangles a column", () => {
  const times = Array.from({ length: 100_000 }, (_, i) => i / 100);
  const { areas, lines } = drawn(
    times,
    times.map((_, i) => i % 40),
    { from: 0, to: 1000 },
  );
  expect(areas.length + lines.length).toBeLessThanOrEqual(4 * 501);
});

test("nothing is drawn where there is nothing", () => {
  expect(drawn([], [], { from: 0, to: 10 })).toEqual({ areas: [], lines: [] });
  expect(drawn([20], [5], { from: 0, to: 10 })).toEqual({ areas: [], lines: [] });
});
