import { expect, test } from "vitest";
import { matchingOptions, type Option } from "./picked";

const ranks: Option[] = Array.from({ length: 1024 }, (_, rank) => [String(rank), String(rank)]);

test("nothing typed shows everything in order", () => {
  expect(matchingOptions(ranks, " ")).toBe(ranks);
});

test("the exact entry comes first, then those that begin alike", () => {
  const found = matchingOptions(ranks, "70").map(([value]) => value);
  expect(found.slice(0, 4)).toEqual(["70", "700", "701", "702"]);
  expect(found).toContain("170");
  expect(found).toHaveLength(1024 - ranks.filter(([value]) => !value.includes("70")).length);
});

test("several words match in any order", () => {
  const runs: Option[] = ["resnet-lr-0.1", "resnet-lr-0.2", "bert-lr-0.1"].map((run) => [run, run]);
  expect(matchingOptions(runs, "0.1 resnet").map(([value]) => value)).toEqual(["resnet-lr-0.1"]);
});
