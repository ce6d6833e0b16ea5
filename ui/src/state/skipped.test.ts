import { expect, test } from "vitest";
import { skippedTitle } from "./skipped";

const file = (path: string, is_unreadable: boolean) => ({ path, what: "text", is_unreadable });

test("files that may be traces are counted apart", () => {
  expect(skippedTitle([file("a.txt", false)])).toBe("1 file not a trace that Stepscope reads");
  expect(skippedTitle([file("a.json", true), file("b.txt", false), file("c.txt", false)])).toBe(
    "1 file cannot be read, 2 files not a trace that Stepscope reads",
  );
});
