import { expect, test } from "vitest";
import type { Run, TimelineOutline } from "../server/types";
import { numbersInWords, unknownChoices } from "./unknown";
import type { Choices, Page } from "./route";

const source = (rank: number, window = 0) => ({ rank, window }) as Run["sources"][number];
const run = (name: string, ...sources: Run["sources"]) => ({ run: name, state: "ready", sources }) as unknown as Run;
const tp8 = run("tp8", ...[0, 1, 2, 3, 4, 5, 6, 7].map((rank) => source(rank)));
const windows = run("windows", source(0, 0), source(0, 1));
const outline = {
  start_ns: 0,
  zero_ns: 2_000_000,
  end_ns: 37_000_000,
  steps: [16, 17, 18].map((number) => ({ number })),
} as TimelineOutline;

function texts(choices: Choices, of: Run | undefined = tp8, page: Page = "overview"): string[] {
  return unknownChoices(page, choices, { runs: [tp8, windows], run: of, outline }).map((each) => each.text);
}

test("what is there is not unknown", () => {
  expect(texts({})).toEqual([]);
  expect(texts({ run: "tp8", rank: "7", steps: "17-99", from: "-5", to: "10" })).toEqual([]);
  expect(texts({ window: "1" }, windows)).toEqual([]);
});

test("an unknown run is named, with those that are open", () => {
  const [unknown] = unknownChoices("overview", { run: "gone", rank: "3", from: "0", to: "1" }, {
    runs: [tp8, windows],
    run: undefined,
    outline: undefined,
  });
  expect(unknown!.text).toBe("Run gone is not open here; open runs are tp8 and windows");
  expect(unknown!.keys).toEqual(expect.arrayContaining(["run", "rank", "from", "to"]));
});

test("an unknown rank is named, with those of the run", () => {
  expect(texts({ rank: "77" })).toEqual(["Rank 77 is not in this run; it has ranks 0 to 7"]);
  expect(texts({ rank: "77" }, windows)).toEqual(["Rank 77 is not in this run; it has rank 0 only"]);
  // Number("") and Number("0x1") would be ranks that are there.
  for (const rank of ["one", " ", "0x1", "1e0", "-1", "1.0"])
    expect(texts({ rank })).toEqual([`Rank ${rank} is not in this run; it has ranks 0 to 7`]);
});

test("an unknown window is named, with those of the rank", () => {
  expect(texts({ window: "5" }, windows)).toEqual(["Window 5 is not in rank 0; it has windows 0 to 1, counted from 0"]);
  expect(texts({ rank: "2", window: "1" })).toEqual(["Window 1 is not in rank 2; it has window 0 only, counted from 0"]);
});

test("unknown steps are named, with those of the recording", () => {
  expect(texts({ steps: "99" })).toEqual(["Step 99 is not in this trace; it has steps 16 to 18"]);
  expect(texts({ steps: "1-5" })).toEqual(["Steps 1 to 5 are not in this trace; it has steps 16 to 18"]);
  expect(texts({ steps: "last" })).toEqual(["Step last is not in this trace; it has steps 16 to 18"]);
  expect(texts({ steps: "18-16" })).toHaveLength(1);
});

test("a range outside of the recording is said so, and so is what is no range", () => {
  expect(texts({ from: "205800000", to: "535600000" })).toEqual([
    "The range 205.8 ms to 535.6 ms is outside this trace, which covers −2.00 ms to 35.00 ms",
  ]);
  expect(texts({ from: "10" })).toEqual(["10 to nothing is not a time range in nanoseconds"]);
  expect(texts({ from: "a", to: "b" })).toHaveLength(1);
  expect(texts({ from: "10", to: "10" })).toHaveLength(1);
});

test("Compare names its unknown sides, and nothing else", () => {
  expect(texts({ a: "tp8", b: "gone", rank: "77" }, tp8, "compare")).toEqual([
    "Run gone is not open here; open runs are tp8 and windows",
  ]);
});

test("what is not known yet is not judged", () => {
  expect(unknownChoices("overview", { steps: "99" }, { runs: [tp8], run: tp8, outline: undefined })).toEqual([]);
  const reading = { ...tp8, state: "reading", sources: [] } as Run;
  expect(unknownChoices("overview", { rank: "3" }, { runs: [reading], run: reading, outline: undefined })).toEqual([]);
});

test("numbers in words join their neighbors", () => {
  expect(numbersInWords([3])).toBe("3");
  expect(numbersInWords([7, 0, 1, 2, 5])).toBe("0 to 2, 5 and 7");
  expect(numbersInWords([0, 2, 4, 6, 8, 10, 12, 14])).toBe("0, 2, 4, 6, 8, 10 and 2 more");
});
