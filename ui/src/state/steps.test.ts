import { expect, test } from "vitest";
import { addressOf, placesOf } from "./steps";

const steps = [16, 17, 18, 30].map((number) => ({ number }));

test("numbers are those of the recording", () => {
  expect(placesOf(steps, 17, 17)).toEqual({ first: 1, last: 1 });
  expect(placesOf(steps, 17, 99)).toEqual({ first: 1, last: 3 });
  expect(placesOf(steps, 0, 3)).toBeUndefined();
  expect(placesOf(steps, 19, 29)).toBeUndefined();
  expect(placesOf([], 0, 3)).toBeUndefined();
});

test("addresses have numbers", () => {
  expect(addressOf(steps, 0, 0)).toBe("16");
  expect(addressOf(steps, 0, 3)).toBe("16-30");
  expect(addressOf([], 2, 2)).toBe("2");
});
