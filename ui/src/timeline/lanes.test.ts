import { columnFromArray, dictionary, int32, int64, tableFromColumns, tableToIPC, utf8 } from "@uwdata/flechette";
import { expect, test } from "vitest";
import { decodeLanes } from "./decode_lanes";
import { busyShares, entryAt, nameAt, type Lanes } from "./lanes";

const ZERO = 156_001;

type Row = [depth: number, start: number, dur: number, busy: number, count: number, name: string, kind: string];

function lanes(rows: Row[]): Lanes {
  const integers = (values: (number | bigint)[]) => columnFromArray(values.map(BigInt), int64());
  const table = tableFromColumns({
    depth: columnFromArray(
      rows.map((row) => row[0]),
      int32(),
    ),
    start_ns: integers(rows.map((row) => ZERO + row[1])),
    dur_ns: integers(rows.map((row) => row[2])),
    busy_ns: integers(rows.map((row) => row[3])),
    count: integers(rows.map((row) => row[4])),
    class: columnFromArray(
      rows.map((row) => row[6]),
      dictionary(utf8()),
    ),
    name: columnFromArray(
      rows.map((row) => row[5]),
      dictionary(utf8()),
    ),
    span_id: integers(rows.map((_, place) => place)),
  });
  return decodeLanes(tableToIPC(table, { format: "stream" })!, ZERO, 0, 100, 100);
}

const some = lanes([
  [1, 20, 5, 5, 1, "inner", "cpu_exec"],
  [0, 10, 30, 30, 1, "outer", "cpu_exec"],
  [0, 50, 20, 5, 7, "many", "kernel"],
]);

test("entries are in order, and count from the first step", () => {
  expect([0, 1, 2].map((entry) => nameAt(some, entry))).toEqual(["outer", "many", "inner"]);
  expect([...some.start]).toEqual([10, 50, 20]);
});

test("a click finds the entry below it", () => {
  const named = (depth: number, time: number, tolerance = 0) => nameAt(some, entryAt(some, depth, time, tolerance));
  expect(named(0, 10)).toBe("outer");
  expect(named(0, 45)).toBeUndefined();
  expect(named(0, 45, 6)).toBe("many");
  expect(named(1, 22)).toBe("inner");
  expect(named(2, 22)).toBeUndefined();
});

test("busy time is spread over what it covers", () => {
  expect([...busyShares(some, 0, 100, 10, (_, depth) => depth === 0)]).toEqual([0, 1, 1, 1, 0, 0.25, 0.25, 0, 0, 0]);
});

test("spans that overlap are found each in a lane of its own", () => {
  const found = lanes([
    [0, 0, 100, 100, 1, "long", "kernel"],
    [0, 50, 100, 100, 1, "late", "kernel"],
    [0, 160, 10, 10, 1, "after", "kernel"],
    [1, 0, 10, 10, 1, "below", "kernel"],
  ]);
  expect(Array.from(found.depth)).toEqual([0, 0, 0.125, 1]);
  expect(found.subLanes).toEqual(new Map([[0, 2]]));
  expect([entryAt(found, 0, 60, 0), entryAt(found, 0.125, 60, 0)].map((entry) => nameAt(found, entry))).toEqual(["long", "late"]);
});
