import { expect, test } from "vitest";
import type { Track } from "../server/types";
import { roleOrder, trackWords, type Role } from "./thread_names";

const thread = (name: string): Track => ({ track: 4, kind: "thread", process: "", name, device: null, stream: null, spans: 1, depth: 1, first_ns: 0, last_ns: 1 });
const main: Role = { role: "main thread", from: "step_marks", thread: "123" };
const autograd: Role = { role: "autograd thread", from: "backward_operators", thread: "124" };

test.each<[string, Role | undefined, string, string]>([
  ["thread 123 (python)", main, "main thread", "thread 123"],
  ["thread 123 (python3.8)", main, "main thread", "thread 123"],
  ["thread 123", main, "main thread", "thread 123"],
  // A name of the trace wins.
  ["thread 124 (pt_autograd_0)", autograd, "pt_autograd_0", "autograd thread · thread 124"],
  ["MainThread", main, "MainThread", "main thread · 123"],
  // What is not known is not said.
  ["thread 125 (python)", undefined, "thread 125", "python"],
  ["", undefined, "track 4", ""],
])("%s with %j", (name, role, title, note) => {
  expect(trackWords(thread(name), role)).toMatchObject({ title, note });
});

test("the hint says what tells, and the main thread comes first", () => {
  expect(trackWords(thread("thread 123"), main).hint).toBe("main thread: the profiler marks steps on it");
  expect([undefined, autograd, main].sort((a, b) => roleOrder(a) - roleOrder(b))).toEqual([main, autograd, undefined]);
});
