import { expect, test } from "vitest";
import { PATH_TRACK, type SourceKey } from "../server/questions";
import type { TimelineOutline, Track } from "../server/types";
import { twoRuns } from "./two_runs";

function track(number: number, kind: string, spans: number): Track {
  return { track: number, kind, process: "", name: "", device: 0, stream: number, spans, depth: 1, first_ns: 0, last_ns: 1 };
}

function side(run: string, zero: number, tracks: Track[]) {
  const step = { step: 0, number: 2, name: "ProfilerStep#2", start_ns: zero, end_ns: zero + 30, complete: true };
  const outline: TimelineOutline = { start_ns: 0, end_ns: 100, zero_ns: zero, steps: [step], tracks };
  const source: SourceKey = { run, rank: 0, window: 0, revision: 1 };
  return { title: run, note: "", source, outline, zero };
}

const RUNS = twoRuns([
  side("before", 10, [track(0, "thread", 5), track(1, "thread", 900), track(2, "thread", 400), track(7, "stream", 50)]),
  side("after", 40, [track(0, "thread", 900), track(7, "stream", 50)]),
]);

test("a run has its critical path, its streams and its busiest threads", () => {
  const homes = (place: number) => RUNS.groups[place]!.tracks.map(({ track }) => RUNS.homes[track]!.track);
  // The thread with 5 spans is left out.
  expect(homes(0)).toEqual([PATH_TRACK, 7, 1, 2]);
  expect(homes(1)).toEqual([PATH_TRACK, 7, 0]);
  expect(RUNS.folded).toEqual(["2", "3", "6"]);
});

test("both are aligned at 0, and the axis holds both", () => {
  expect(RUNS.steps.map(([step]) => [step!.from, step!.to])).toEqual([[0, 30], [0, 30]]);
  expect(RUNS.homes.map((home) => home.zero)).toEqual([10, 10, 10, 10, 40, 40, 40]);
  expect(RUNS.bounds).toEqual({ from: -40, to: 90 });
  expect(RUNS.runs.map((run) => run.title).at(4)).toBe("after");
});
