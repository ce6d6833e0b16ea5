import { expect, test } from "vitest";
import { rgba } from "./palette";

test("colors are read in every length, and what is none is gray", () => {
  expect(rgba("#14171c")).toEqual([0x14, 0x17, 0x1c, 255]);
  expect(rgba("#fff")).toEqual([255, 255, 255, 255]);
  expect(rgba("#14171c80")).toEqual([0x14, 0x17, 0x1c, 0x80]);
  expect(rgba("")).toEqual([128, 128, 128, 255]);
});
