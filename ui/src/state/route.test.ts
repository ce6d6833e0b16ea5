import { expect, test, vi } from "vitest";
import { changed, choice, choose, parseHash, writeHash } from "./route";

test("an address is read and written back", () => {
  const hash = "#/operators?run=resnet50&rank=1&steps=5-10&sort=-device_self_ns&group=input_shape,stack";
  expect(writeHash(parseHash(hash))).toBe(hash);
});

test("the first page is the overview, unknown choices are dropped", () => {
  // Which pages there are is known with the session: the shell shows the overview for one that is not.
  expect(parseHash("#/nowhere?run=a&evil=1")).toEqual({ page: "nowhere", choices: { run: "a" } });
  expect(parseHash("")).toEqual({ page: "overview", choices: {} });
});

test("choices hold any text", () => {
  const place = { page: "kernels" as const, choices: { q: "<img src=x> & a=b?#/ é" } };
  expect(parseHash(writeHash(place))).toEqual(place);
});

test("nothing of one run follows to another", () => {
  const before = { run: "a", rank: "3", window: "1", steps: "5", from: "0", to: "9", sel: "7", view: "0:9", sort: "name" };
  expect(changed(before, { run: "b" })).toEqual({ run: "b", sort: "name" });
  expect(changed(before, { run: "a" })).toEqual(before);
  // A link may name a place in the other run.
  expect(changed(before, { run: "b", steps: "2" })).toEqual({ run: "b", steps: "2", sort: "name" });
});

test("steps and ranges follow to another rank, spans and windows do not", () => {
  const before = { rank: "3", window: "1", steps: "5", from: "0", to: "9", sel: "7", pin: "4", color: "name" };
  expect(changed(before, { rank: "4" })).toEqual({ rank: "4", steps: "5", from: "0", to: "9", color: "name" });
  expect(changed(before, { window: "0" })).toEqual({ rank: "3", window: "0", color: "name" });
});

test("the address restores how the timeline and tables are looked at", () => {
  const hash = "#/timeline?run=a&columns=calls,-device_self_ns&color=name&arrows=off&weight=host";
  expect(writeHash(parseHash(hash))).toBe(hash);
});

test("small changes are on screen at once, and in the address when they have rested or something new begins", () => {
  vi.useFakeTimers();
  const written: string[] = [];
  const write = (how: string) => (_: unknown, __: string, hash: string) => written.push(`${how} ${hash}`);
  const history = { replaceState: write("replace"), pushState: write("push") };
  vi.stubGlobal("window", { history, setTimeout });
  for (const sel of ["1", "2", "3"]) choose({ sel }, "replace");
  expect([choice("sel"), written]).toEqual(["3", []]);
  vi.runAllTimers();
  expect(written).toEqual(["replace #/overview?sel=3"]);
  choose({ sel: "4" }, "replace");
  choose({ sel: "5" });
  vi.runAllTimers();
  expect(written.slice(1)).toEqual(["replace #/overview?sel=4", "push #/overview?sel=5"]);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
