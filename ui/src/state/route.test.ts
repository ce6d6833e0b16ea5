import { expect, test } from "vitest";
import { parseHash, writeHash } from "./route";

test("an address is read and written back", () => {
  const hash = "#/operators?run=resnet50&rank=1&steps=5-10&sort=-device_self_ns&group=input_shape,stack";
  expect(writeHash(parseHash(hash))).toBe(hash);
});

test("an unknown page is the overview, unknown choices are dropped", () => {
  expect(parseHash("#/nowhere?run=a&evil=1")).toEqual({ page: "overview", choices: { run: "a" } });
  expect(parseHash("")).toEqual({ page: "overview", choices: {} });
});

test("choices hold any text", () => {
  const place = { page: "kernels" as const, choices: { q: "<img src=x> & a=b?#/ é" } };
  expect(parseHash(writeHash(place))).toEqual(place);
});
