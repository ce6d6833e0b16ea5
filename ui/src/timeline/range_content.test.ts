import { expect, test } from "vitest";
import type { TablePart } from "../server/types";
import { contentOf, contentStatement } from "./range_content";

test("events that began before the range and end after it are asked for too", () => {
  const text = contentStatement({ from: 10.4, to: 20 }, { run: "r", rank: 3, window: 1, revision: 1 }, 1_000n);
  expect(text).toContain('rank = 3 AND "window" = 1 AND start_ns < 1020 AND start_ns + dur_ns > 1010');
  expect(text).toContain("start_ns <= 1010 AND start_ns + dur_ns >= 1020 AS covers");
});

test("what covers the range stands apart from what lies in it", () => {
  const names = ["kind", "name", "covers", "calls", "inside_ns", "longest_ns", "span_id"];
  const table = {
    columns: names.map((name) => ({ name })),
    rows: [
      ["py", "/srv/me/train.py(3): step", true, 1, 10, 50, 8],
      ["ann", "ProfilerStep#7", true, 1, 10, 90, 2],
      ["op", "aten::mm", false, 4, 6, 3, 9],
    ],
  } as unknown as TablePart;
  const { around, inside } = contentOf(table);
  expect(around.map((content) => [content.name, content.kind])).toEqual([
    ["train.py(3): step", "frame"],
    ["ProfilerStep#7", "region"],
  ]);
  expect(inside).toEqual([
    { name: "aten::mm", whole: "aten::mm", kind: "operator", calls: 4, ns: 6, spanId: 9 },
  ]);
});
