import { expect, test } from "vitest";
import type { TimelineOutline, Track } from "../server/types";
import { pathTrack } from "./path";
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
  room: 0,
  pythonLanes: () => 0,
  subLanes: () => undefined,
  roleOf: () => undefined,
  curves: [],
  countersLeftOut: 0,
  deviceName: () => "",
};
const words = (changes: Partial<typeof options>) =>
  layOut(outline, { ...options, ...changes }).rows.map((row) =>
    row.kind === "track" ? `${row.title}${row.isPinned ? " pinned" : ""} ${row.lanes.length}` : row.title,
  );

test("hosts, then devices, then the books of the profiler", () => {
  expect(words({})).toEqual([
    "python (1)",
    "thread 2 10",
    "thread 0 3",
    "GPU 0",
    "stream 7 1",
    "GPU busy",
    "Bookkeeping",
  ]);
});

test("bookkeeping is what says nothing of the program: folded, counted, and last", () => {
  const processes = ["Traces", "Spans", "", "-1", "trainer (-1)", "spans_of_mine"];
  const tracks = [...outline.tracks.slice(0, 3), ...processes.map((name, place) => track(10 + place, "thread", 1, 1, name))];
  tracks.push(track(20, "thread", 0, 1));
  const rows = (toggled: string[]) => layOut({ ...outline, tracks }, { ...options, toggled: new Set(toggled) }).rows;
  expect(rows([]).slice(-2).map((row) => [row.title, row.note])).toEqual([
    ["spans_of_mine", ""],
    ["Bookkeeping", "6 tracks"],
  ]);
  expect(rows([]).at(-1)).toMatchObject({ kind: "group", isFolded: true });
  expect(rows(["bookkeeping"]).slice(-7).map((row) => row.title)).toEqual(
    ["Bookkeeping", ...[10, 11, 12, 13, 14, 20].map((number) => `thread ${number}`)],
  );
  // A process without a number that does the work is no bookkeeping, and neither is all that there is.
  const work = [track(0, "thread", 100, 1, "-1"), track(1, "thread", 80, 1)];
  expect(layOut({ ...outline, tracks: work }, options).rows.map((row) => row.title)).not.toContain("Bookkeeping");
  const only = [track(0, "thread", 1, 1, "Traces")];
  expect(layOut({ ...outline, tracks: only }, options).rows.map((row) => row.title)).toEqual(["Traces", "thread 0"]);
});

test("threads are in the order of their roles, named by them", () => {
  const roles = new Map([
    [0, { role: "main thread", from: "step_marks", thread: "0" }],
    [2, { role: "autograd thread", from: "backward_operators", thread: "2" }],
  ]);
  const tracks = outline.tracks.map((track) => ({ ...track, name: `thread ${track.track} (python)` }));
  const { rows } = layOut({ ...outline, tracks }, { ...options, roleOf: (track) => roles.get(track) });
  expect(rows.slice(1, 3).map((row) => [row.title, row.note])).toEqual([
    ["main thread", "thread 0"],
    ["autograd thread", "thread 2"],
  ]);
});

test("rows grow into the room that there is, and never beyond it", () => {
  const usual = layOut(outline, options);
  for (const room of [100, 400, 500, 700, 900, 1400]) {
    const { rows, height } = layOut(outline, { ...options, room });
    expect(height).toBeLessThanOrEqual(Math.max(room, usual.height));
    expect(height).toBeGreaterThanOrEqual(usual.height);
    expect(rows.map((row) => row.title)).toEqual(usual.rows.map((row) => row.title));
  }
  const roomy = layOut(outline, { ...options, room: 1400 }).rows[1] as TrackRow;
  expect([roomy.lanes.length, roomy.lane]).toEqual([30, 23]);
  const small = layOut(outline, { ...options, room: usual.height + 6 * 17 }).rows[1] as TrackRow;
  expect([small.lanes.length, small.lane]).toEqual([16, 17]);
});

test("spans that overlap have lanes between the others", () => {
  const { rows } = layOut(outline, { ...options, subLanes: (track) => (track === 0 ? new Map([[1, 3]]) : undefined) });
  const row = rows.find((row) => row.kind === "track" && row.track.track === 0) as TrackRow;
  expect([row.lanes, row.isOverlapping]).toEqual([[0, 1, 1.125, 1.25, 2], true]);
  expect(laneTop(row, 2) - laneTop(row, 1)).toBe(3 * 17);
  expect(laneAt(row, laneTop(row, 1.125) + 1)).toBe(1.125);
});

test("several ranks are their devices below each other", () => {
  const ranks = [0, 3].map((rank) => ({ rank, title: `Rank ${rank}`, note: "", tracks: [track(rank, "stream", 9, 1)] }));
  const rows = (toggled: string[]) =>
    layOut(outline, { ...options, ranks, toggled: new Set(toggled) }).rows.map((row) => row.title);
  expect(rows([])).toEqual(["Rank 0", "stream 7", "Rank 3", "stream 7"]);
  expect(rows(["r:0"])).toEqual(["Rank 0", "Rank 3", "stream 7"]);
});

test("counters come before bookkeeping, with how many have no curve", () => {
  const curve = { title: "CPU", note: "", isCounter: true } as never;
  expect(words({ curves: [curve] as never, countersLeftOut: 3 }).slice(-4, -1)).toEqual(["Counters", "CPU", "3 more counters"]);
  expect(words({ curves: [curve] as never, toggled: new Set(["counters"]) }).at(-2)).toEqual("Counters");
});

test("folds and pins move rows", () => {
  expect(words({ toggled: new Set(["h:python (1)", "bookkeeping"]), pinned: [1] as never })).toEqual([
    "stream 7 pinned 1",
    "python (1)",
    "GPU 0",
    "GPU busy",
    "Bookkeeping",
    "thread 3 1",
  ]);
  expect(words({ toggled: new Set(["+2"]) })[1]).toBe("thread 2 30");
});

test("operators are seen before Python frames", () => {
  const row = layOut(outline, { ...options, pythonLanes: (track) => (track === 2 ? 25 : 0) }).rows[1] as TrackRow;
  expect([row.first, row.lanes.length, row.hidden]).toEqual([25, 5, 25]);
  expect(laneAt(row, laneTop(row, 27) + 1)).toBe(27);
});

test("a height finds its lane", () => {
  const { rows } = layOut(outline, options);
  const row = rows[1] as TrackRow;
  expect(rowAt(rows, row.y + 5)).toBe(row);
  expect(laneAt(row, laneTop(row, 4) + 1)).toBe(4);
  expect(laneAt(row, row.y)).toBe(-1);
});

test("the critical path is above everything else, and stays high", () => {
  const { rows } = layOut(outline, { ...options, pinned: [0], path: pathTrack });
  const [path, pinned] = rows as TrackRow[];
  expect([path?.title, path?.isFolded, pinned?.isPinned]).toEqual(["Critical path", false, true]);
  expect(laneAt(path!, laneTop(path!, 0) + 1)).toBe(0);
  expect(layOut(outline, options).rows.some((row) => row.kind === "track" && row.track.kind === "path")).toBe(false);
});
