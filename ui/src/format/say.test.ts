import { expect, test } from "vitest";
import type { Sentence } from "../server/types";
import { capitalized, factsOf, say, sentencesIn, written } from "./say";

const wait: Sentence = [{ figure: { value: 12_500_000, unit: "ns", rounding: "usual" } }];

test("a sentence is words with figures between", () => {
  const said = say`rank ${"3"} waits ${wait}.`;
  expect(written(said)).toBe("rank 3 waits 12.50 ms.");
  expect(said.filter((piece) => "figure" in piece)).toEqual(wait);
  expect(written(capitalized(said))).toBe("Rank 3 waits 12.50 ms.");
  expect(written(capitalized(wait))).toBe("12.50 ms");
});

test("facts that are not there leave no gap", () => {
  expect(written(factsOf(["2 GPUs", undefined, wait, ""]))).toBe("2 GPUs · 12.50 ms");
});

test("a cell may hold sentences", () => {
  expect(sentencesIn({ sentence: wait })).toEqual([wait]);
  expect(sentencesIn({ sentences: [wait, wait] })).toHaveLength(2);
  expect(sentencesIn([1, 2])).toEqual([]);
  expect(sentencesIn("12.50 ms")).toEqual([]);
});
