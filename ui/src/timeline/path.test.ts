import { expect, test } from "vitest";
import { PATH_TRACK } from "../server/questions";
import type { Lanes } from "./lanes";
import { pathMarks, pathTrack } from "./path";
import type { Row } from "./rows";

/** Lanes of entries [depth, start, dur, spanId, count]. */
const lanesOf = (...entries: [number, number, number, number, number][]): Lanes => ({
  from: 0,
  to: 1000,
  width: 100,
  size: entries.length,
  isExact: true,
  depth: Float64Array.from(entries, (entry) => entry[0]),
  start: Float64Array.from(entries, (entry) => entry[1]),
  dur: Float64Array.from(entries, (entry) => entry[2]),
  busy: Float64Array.from(entries, (entry) => entry[2]),
  count: Float64Array.from(entries, (entry) => entry[4]),
  spanId: Float64Array.from(entries, (entry) => entry[3]),
  classOf: new Uint8Array(entries.length),
  nameOf: new Int32Array(entries.length),
  names: [""],
});

const row = (track: number) => ({ kind: "track", track: { ...pathTrack, track } }) as Row;
const marks = (path: Lanes, host: Lanes, view = { from: 0, to: 1000 }) =>
  pathMarks({ lanes: (track) => ({ current: track === PATH_TRACK ? path : host }) }, [row(PATH_TRACK), row(3)], view);

test("a piece marks the part of its span that it is", () => {
  const path = lanesOf([0, 100, 50, 7, 1], [0, 150, 30, 8, 1]);
  const host = lanesOf([0, 90, 200, 7, 1], [1, 150, 30, 8, 1]);
  expect(marks(path, host)).toEqual([
    { track: 3, depth: 0, from: 100, to: 150 },
    { track: 3, depth: 1, from: 150, to: 180 },
  ]);
  // One span may be on the path several times.
  expect(marks(lanesOf([0, 100, 10, 7, 1], [0, 120, 10, 7, 1]), host)).toHaveLength(2);
});

test("a delay before a span, a bucket and what is off screen mark nothing", () => {
  const host = lanesOf([0, 100, 50, 7, 1]);
  expect(marks(lanesOf([0, 80, 20, 7, 1]), host)).toEqual([]);
  expect(marks(lanesOf([0, 100, 50, 7, 4]), host)).toEqual([]);
  expect(marks(lanesOf([0, 100, 50, 7, 1]), lanesOf([0, 100, 50, 7, 4]))).toEqual([]);
  expect(marks(lanesOf([0, 100, 50, 7, 1]), host, { from: 200, to: 300 })).toEqual([]);
});
