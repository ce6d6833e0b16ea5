import { expect, test } from "vitest";
import type { Run, Source } from "../server/types";
import { inTime, likeliestPartner, nameStem } from "./partner";

const source = (rank: number, first_ns: number | null, device = "A100"): Source => ({
  rank,
  window: 0,
  events: 1,
  first_ns,
  last_ns: null,
  health: "good",
  devices: [device],
  complete_steps: 1,
  rows: {},
});

const run = (name: string, first: number | null, ranks = 1, device?: string): Run => ({
  run: name,
  state: "ready",
  progress: null,
  error: null,
  apart_because: null,
  revision: 1,
  sources: Array.from({ length: ranks }, (_, rank) => source(rank, first, device)),
});

test.each([
  ["runs/train_0412", "train"],
  ["train.2024-06-01.3f9ac21b", "train"],
  ["resnet50_num_workers_4", "resnet num workers"],
])("the stem of %s is %s", (name, stem) => expect(nameStem(name)).toBe(stem));

test("the same script goes before the nearest in time", () => {
  const runs = [run("eval_2", 90), run("train_1", 10), run("train_3", 100)];
  expect(likeliestPartner(runs[2]!, runs)?.run).toBe("train_1");
});

test("of the same script the latest before is chosen", () => {
  const runs = [run("train_1", 10), run("train_2", 20), run("train_4", 40), run("train_3", 30)];
  expect(likeliestPartner(runs[3]!, runs)?.run).toBe("train_2");
  expect(likeliestPartner(runs[0]!, runs)?.run).toBe("train_2");
});

test("the same devices and world size go before others of the script", () => {
  const runs = [run("train_1", 10, 8), run("train_2", 20, 1, "V100"), run("train_3", 25, 4), run("train_4", 30, 8)];
  expect(likeliestPartner(runs[3]!, runs)?.run).toBe("train_1");
});

test("one run has no partner", () => {
  const only = run("train", 1);
  expect(likeliestPartner(only, [only])).toBeUndefined();
});

test("a comparison reads from before to after", () => {
  const [early, late, unknown] = [run("a", 1), run("b", 2), run("c", null)];
  expect(inTime(late, early)).toEqual([early, late]);
  expect(inTime(early, late)).toEqual([early, late]);
  expect(inTime(late, unknown)).toEqual([late, unknown]);
});
