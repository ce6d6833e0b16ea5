import { expect, test } from "vitest";
import { proseParts } from "./prose";

const figures = (text: string) =>
  proseParts(text)
    .filter((part) => part.isFigure)
    .map((part) => part.text);

test("a figure stays with its unit", () => {
  expect(figures("Copies wait 12.5 ms; 0 % does, ≥ 15.0 % of 33.55 MB at 209.7 GB/s.")).toEqual([
    "12.5 ms",
    "0 %",
    "≥ 15.0 %",
    "33.55 MB",
    "209.7 GB/s",
  ]);
  expect(figures("1,024 ranks wait 1.031 s for each other; rank 700 causes all of it")).toEqual(["1,024 ranks", "1.031 s"]);
});

test("words that only begin like a unit are words", () => {
  expect(figures("in 2 minutes, 3 slow ones, 4 GBq")).toEqual([]);
});

test("nothing of the text is lost", () => {
  const text = "A step takes 177.6 ms: 98.59 ms of it waits.";
  expect(proseParts(text).map((part) => part.text).join("")).toBe(text);
});
