import { expect, test } from "vitest";
import { differenceInWords, mannWhitney, verdictOf } from "./comparison";

test("small samples are counted exactly", () => {
  // Complete separation of 3 and 3: 2 of 20 orders.
  expect(mannWhitney([1, 2, 3], [4, 5, 6])).toBeCloseTo(2 / 20, 12);
  // 5 and 5 apart: 2 of 252.
  expect(mannWhitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])).toBeCloseTo(2 / 252, 12);
  // U = 5 of 6 and 6, from published tables.
  expect(
    mannWhitney([175.2, 179.7, 174.6, 182.2, 166.0, 187.9], [126.2, 123.1, 127.2, 124.3, 163.5, 182.3]),
  ).toBeCloseTo(0.041, 3);
});

test("many and equal samples are approximated", () => {
  expect(mannWhitney([1, 1, 1], [1, 1, 1])).toBe(1);
  const many = Array.from({ length: 60 }, (_, i) => i);
  expect(
    mannWhitney(
      many,
      many.map((value) => value + 0.5),
    ),
  ).toBeGreaterThan(0.8);
  expect(
    mannWhitney(
      many,
      many.map((value) => value + 30.5),
    ),
  ).toBeLessThan(1e-6);
});

test("few steps never say more than inconclusive", () => {
  expect(verdictOf([1, 2, 3], [4, 5, 6]).word).toBe("inconclusive");
  expect(verdictOf([], [1]).word).toBe("inconclusive");
  expect(verdictOf([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]).word).toBe("beyond noise");
  expect(verdictOf([1, 3, 5, 7, 9], [2, 4, 6, 8, 10]).word).toBe("within noise");
});

test("a difference is a sentence", () => {
  const a = [98.6e6, 1.9e6, 0, 0, 2.9e6, 59.3e6, 13.7e6, 1.2e6];
  const b = [99.2e6, 3.1e6, 0, 0, 10.6e6, 1.2e6, 22.7e6, 4.3e6];
  expect(differenceInWords(a, b, "beyond noise")).toBe(
    "B is 36.50 ms per step faster (−20.6 %): DataLoader falls by 58.10 ms, CPU execution grows by 9.00 ms.",
  );
  expect(differenceInWords(a, a, "within noise")).toBe("A and B take the same time per step.");
});

test("what may be noise is neither faster nor slower", () => {
  const [a, b] = [[100e6], [110e6]];
  expect(differenceInWords(a, b, "within noise")).toBe("A and B differ by 10.00 ms per step (+10.0 %), within noise.");
  expect(differenceInWords(a, b, "inconclusive")).toBe(
    "A and B differ by 10.00 ms per step (+10.0 %). Too few steps to separate this from noise.",
  );
});
