import { expect, test } from "vitest";
import { savingSentence } from "./saving";
import { written } from "./say";

test.each([
  ["at most", "Saves at most 39.60 ms per step: 35.00 ms to 42.00 ms, confidence high."],
  ["estimate", "Saves about 39.60 ms per step: 35.00 ms to 42.00 ms, confidence high."],
  ["at least", "Saves at least 39.60 ms per step: 35.00 ms to 42.00 ms, confidence high."],
  ["for orientation", "Saves about 39.60 ms per step: 35.00 ms to 42.00 ms, confidence high, for orientation only."],
])("a saving is a range with a bound: %s", (bound, want) => {
  const saving = { saving: 39_600_000.4, low: 35e6, high: 42e6, bound, confidence: "high" };
  expect(written(savingSentence(saving))).toBe(want);
});

test("a range that would show one figure twice is left out", () => {
  const saving = { saving: 6_800_000, low: 6_799_900, high: 6_800_100, bound: "at most", confidence: "high" };
  expect(written(savingSentence(saving))).toBe("Saves at most 6.800 ms per step, confidence high.");
});
