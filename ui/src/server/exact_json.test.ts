import { expect, test } from "vitest";
import { parseExact } from "./exact_json";

test("points in time keep all their digits", () => {
  const text =
    '{"start_ns": 1623142623460016001, "dur_ns": 5, "share": 0.5551408517455255123, "list": [-1623142623460016001]}';
  expect(parseExact(text)).toEqual({
    start_ns: 1623142623460016001n,
    dur_ns: 5,
    share: 0.5551408517455255,
    list: [-1623142623460016001n],
  });
});

test("digits in texts stay texts", () => {
  const text = '{"name": "a,1623142623460016001]", "quote": "\\" 1623142623460016001"}';
  expect(parseExact(text)).toEqual({ name: "a,1623142623460016001]", quote: '" 1623142623460016001' });
});
