import { expect, test } from "vitest";
import type { TimelineOutline } from "../server/types";
import { choicesFor, longestStatement } from "./show_worst";

const outline = { start_ns: 0, end_ns: 10_000_000, zero_ns: 1_000, steps: [], tracks: [] } as TimelineOutline;

test("the address names the instance, its range, and a view with room around it", () => {
  const worst = { rank: 0, window: 0, span_id: 7, start_ns: 501_000, dur_ns: 100_000 };
  expect(choicesFor(worst, outline)).toEqual({ from: "500000", to: "600000", sel: "7", view: "460000,640000" });
  // A stretch without work is no event, and an instant still has a range.
  expect(choicesFor({ ...worst, span_id: null, dur_ns: 0 }, outline)).toMatchObject({
    from: "500000",
    to: "500001",
    sel: undefined,
  });
});

test("a name is a text in the statement, whatever it holds", () => {
  const text = longestStatement("it's", { run: "r", rank: 2, window: 0, revision: 1 }, 12345678901234567890n);
  expect(text).toContain("name = 'it''s'");
  expect(text).toContain("start_ns - 12345678901234567890 AS");
});
