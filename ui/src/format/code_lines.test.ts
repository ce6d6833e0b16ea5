import { expect, test } from "vitest";
import { framesIn, lineLabel, stackLines } from "./code_lines";

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

test("stacks of one line are told apart by where they are called from", () => {
  const stack = (...frames: string[]) => ({ line: "/a/model.py:39 forward", frames: frames.join("\n") });
  const inner = "/a/model.py:39 forward";
  expect(
    stackLines([
      stack(inner, "/a/model.py:383 attention"),
      stack(inner, "/a/model.py:387 feed"),
      { line: "(no stack)", frames: null },
    ]),
  ).toEqual(["model.py:39 forward ‹ model.py:383 attention", "model.py:39 forward ‹ model.py:387 feed", "(no stack)"]);
  // Two operators of one line differ in C++ only.
  expect(stackLines([stack("??:0 at::_ops::exp::call(int)", inner), stack("??:0 at::_ops::add::call(int)", inner)])).toEqual([
    "model.py:39 forward ‹ exp",
    "model.py:39 forward ‹ add",
  ]);
  expect(stackLines([stack(inner), stack(inner)])).toEqual(["model.py:39 forward", "model.py:39 forward"]);
});
