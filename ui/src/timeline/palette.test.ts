import { expect, test } from "vitest";
import { rgba, tint } from "./palette";

test("colors are read in every length, and what is none is gray", () => {
  expect(rgba("#14171c")).toEqual([0x14, 0x17, 0x1c, 255]);
  expect(rgba("#fff")).toEqual([255, 255, 255, 255]);
  expect(rgba("#14171c80")).toEqual([0x14, 0x17, 0x1c, 0x80]);
  expect(rgba("")).toEqual([128, 128, 128, 255]);
});

test("a tint is a share of its class on the ground, and a plain color stays", () => {
  expect(tint("color-mix(in oklab, #c80000 50%, #0000c8)")).toEqual([100, 0, 100, 255]);
  expect(tint("#14171c")).toEqual([0x14, 0x17, 0x1c, 255]);
});
