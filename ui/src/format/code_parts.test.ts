import { expect, test } from "vitest";
import { codeParts } from "./code_parts";

const words = (text: string) => ({ text, isCode: false });
const code = (text: string) => ({ text, isCode: true });

test("code stands between backticks", () => {
  expect(codeParts("calls such as `cudaMalloc` or `cudaFree`.")).toEqual([
    words("calls such as "),
    code("cudaMalloc"),
    words(" or "),
    code("cudaFree"),
    words("."),
  ]);
  expect(codeParts("`a`")).toEqual([code("a")]);
  expect(codeParts("plain")).toEqual([words("plain")]);
  expect(codeParts("")).toEqual([]);
});

test("a single backtick is no code", () => {
  expect(codeParts("a ` b")).toEqual([words("a ` b")]);
  expect(codeParts("``")).toEqual([words("``")]);
});
