import { expect, test } from "vitest";
import type { TimelineOutline, Track } from "../server/types";
import { laneAt, laneTop, layOut, rowAt, type TrackRow } from "./rows";

const track = (number: number, kind: Track["kind"], spans: number, depth: number, process = "python (1)"): Track => ({
  track: number,
  kind,
  process,
  name: `thread ${number} (main)`,
  device: kind === "stream" ? 0 : null,
  stream: kind === "stream" ? 7 : null,
  spans,
  depth,
  first_ns: 0,
  last_ns: 10,
});

const outline: TimelineOutline = {
  start_ns: 0,
  end_ns: 10,
  zero_ns: 0,
  steps: [],
  tracks: [
    track(0, "thread", 100, 3),
    track(1, "stream", 900, 1),
    track(2, "thread", 500, 30),
    track(3, "thread", 1, 1, "Traces (9)"),
  ],
};
const options = {
  toggled: new Set<string>(),
  pinned: [],
  laneHeight: 17,
  pythonLanes: () => 0,
  curves: [],
  countersLeftOut: 0,
  deviceName: () => "",
};
const words = (changes: Partial<typeof options>) =>
  layOut(outline, { ...options, ...changes }).rows.map((row) =>
    row.kind === "track" ? `${row.title}${row.isPinned ? " pinned" : ""} ${row.lanes}` : row.title,
  );

test("hosts, then devices, then what is quiet", () => {
  expect(words({})).toEqual([
    "python (1)",
    "thread 2 10",
    "thread 0 3",
    "GPU 0",
    "stream 7 1",
    "GPU busy",
    "Traces (9)",
  ]);
});

test("counters come last, with how many have no curve", () => {
  const curve = { title: "CPU", note: "", isCounter: true } as never;
  expect(words({ curves: [curve] as never, countersLeftOut: 3 }).slice(-3)).toEqual(["Counters", "CPU", "3 more counters"]);
  expect(words({ curves: [curve] as never, toggled: new Set(["counters"]) }).at(-1)).toEqual("Counters");
});

test("a track without spans is left out", () => {
  const tracks = [track(0, "thread", 0, 1), track(1, "thread", 5, 1)];
  expect(layOut({ ...outline, tracks }, options).rows.map((row) => row.title)).toEqual(["python (1)", "thread 1"]);
});

test("folds and pins move rows", () => {
  expect(words({ toggled: new Set(["h:python (1)", "h:Traces (9)"]), pinned: [1] as never })).toEqual([
    "stream 7 pinned 1",
    "python (1)",
    "GPU 0",
    "GPU busy",
    "Traces (9)",
    "thread 3 1",
  ]);
  expect(words({ toggled: new Set(["+2"]) })[1]).toBe("thread 2 30");
});

test("operators are seen before Python frames", () => {
  const row = layOut(outline, { ...options, pythonLanes: (track) => (track === 2 ? 25 : 0) }).rows[1] as TrackRow;
  expect([row.first, row.lanes, row.hidden]).toEqual([25, 5, 25]);
  expect(laneAt(row, laneTop(row, 27) + 1)).toBe(27);
});

test("a height finds its lane", () => {
  const { rows } = layOut(outline, options);
  const row = rows[1] as TrackRow;
  expect(rowAt(rows, row.y + 5)).toBe(row);
  expect(laneAt(row, laneTop(row, 4) + 1)).toBe(4);
  expect(laneAt(row, row.y)).toBe(-1);
});
