import { expect, test } from "vitest";
import { madeTable } from "./made_table";
import { classTimes, sumOf } from "./class_times";

const table = madeTable(
  ["class", "path_per_step_ns"],
  [
    ["launch_delay", 5],
    ["other", 40],
    ["unheard_of", 1],
    ["kernel", 50.5],
    ["memcpy", 0],
    ["cpu_exec", null],
  ],
);

test("classes are in stacking order, delays after them, and none without time is there", () => {
  const times = classTimes(table, "path_per_step_ns");
  expect(times.map(({ name }) => name)).toEqual(["kernel", "other", "launch_delay", "unheard_of"]);
  expect(sumOf(times)).toBe(96.5);
});

test("a report without the table has no times", () => {
  expect(classTimes(undefined, "path_per_step_ns")).toEqual([]);
});
