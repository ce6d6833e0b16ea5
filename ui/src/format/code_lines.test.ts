import { expect, test } from "vitest";
import { framesIn, lineLabel } from "./code_lines";

test.each([
  ["/srv/me/model.py:39 forward", "model.py:39 forward"],
  [String.raw`C\me\model.py:39 forward`, "model.py:39 forward"],
  ["model.py:39 forward", "model.py:39 forward"],
  ["??:0 at::native::empty(int a/b)", "??:0 at::native::empty(int a/b)"],
  ["(no stack)", "(no stack)"],
])("%s", (line, label) => expect(lineLabel(line)).toBe(label));

test("frames of Python are told from others", () => {
  expect(framesIn("??:0 torch::unwind()\n/a/b.py:3 f\n")).toEqual([
    { text: "??:0 torch::unwind()", isPython: false },
    { text: "/a/b.py:3 f", isPython: true },
  ]);
});
