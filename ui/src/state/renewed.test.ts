import { expect, test } from "vitest";
import type { Run, Source } from "../server/types";
import { renewal } from "./renewed";

const source = (rank: number, window: number, first: number) =>
  ({ rank, window, first_ns: first, last_ns: first + 100, events: 5 }) as Source;
const run = (...sources: Source[]) => ({ run: "job", state: "ready", sources }) as unknown as Run;

test("a later window is offered, and the page stays where it is", () => {
  const [before, after] = [run(source(0, 0, 1000)), run(source(0, 0, 1000), source(0, 1, 2000))];
  expect(renewal(before, after, before.sources[0])).toEqual({
    text: "job has a new window",
    stay: {},
    open: { rank: "0", window: "1" },
  });
});

test("an earlier window takes a number away, and the page follows its recording", () => {
  const [before, after] = [run(source(0, 0, 2000)), run(source(0, 0, 1000), source(0, 1, 2000))];
  expect(renewal(before, after, before.sources[0])).toMatchObject({
    stay: { window: "1" },
    open: { rank: "0", window: "0" },
  });
  expect(renewal(after, before, after.sources[1])).toMatchObject({ stay: { window: undefined }, open: undefined });
});

test("new ranks are named", () => {
  const [before, after] = [run(source(0, 0, 1)), run(source(0, 0, 1), source(1, 0, 1), source(2, 0, 1))];
  expect(renewal(before, after, before.sources[0]).text).toBe("job has new ranks: 1 to 2");
});

test("a recording that has changed is said so", () => {
  const news = renewal(run(source(0, 0, 1)), run(source(0, 0, 7)), source(0, 0, 1));
  expect(news).toEqual({
    text: "The traces of job have changed. This page shows the new ones.",
    stay: {},
    open: undefined,
  });
});
