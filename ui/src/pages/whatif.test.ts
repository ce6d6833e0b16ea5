import { expect, test } from "vitest";
import { words } from "../format/say";
import { madeReport, madeTable } from "../report/made_table";
import {
  commandLine,
  offersOf,
  parseChanges,
  parseScaled,
  savingsOf,
  usualSaving,
  withChange,
  writeChanges,
  writeScaled,
  type Offer,
} from "./whatif";

const offers = offersOf(
  madeReport(
    "whatif",
    madeTable(
      ["name", "option", "about", "bound", "because"],
      [
        ["scale", "--scale KIND:PATTERN=P/Q", "Let work take P/Q of its time", "estimate", "for the factor"],
        ["no_sync", "--no-sync", "Let no call wait for the device", "at most", "values are needed"],
      ],
    ),
  ),
);

test("changes are offered as the server lists them", () => {
  expect(offers.map(({ option, value }) => [option, value])).toEqual([
    ["--scale", "KIND:PATTERN=P/Q"],
    ["--no-sync", null],
  ]);
});

test.each([
  ["no_sync", [{ name: "no_sync", value: "" }]],
  ["scale=kernel%3A*%3D1%2F2&no_sync", [{ name: "scale", value: "kernel:*=1/2" }, { name: "no_sync", value: "" }]],
  // A name of a kernel may hold anything.
  [
    "remove=kernel%3Avoid%20f%3Ca%2C%204%3E(b%26)",
    [{ name: "remove", value: "kernel:void f<a, 4>(b&)" }],
  ],
])("changes in an address: %s", (text, changes) => {
  expect(parseChanges(text)).toEqual(changes);
  expect(writeChanges(changes)).toBe(text);
});

test("no change is no text", () => {
  expect(parseChanges(undefined)).toEqual([]);
  expect(writeChanges([])).toBeUndefined();
});

test("a change is made once, and can be taken back", () => {
  const made = withChange([{ name: "scale", value: "kernel:*=1/2" }], "scale", "kernel:*=1/4");
  expect(made).toEqual([{ name: "scale", value: "kernel:*=1/4" }]);
  expect(withChange(made, "scale", undefined)).toEqual([]);
});

test("work that takes a part of its time", () => {
  expect(parseScaled("kernel:a=b=1/8")).toEqual({ work: "kernel:a=b", divisor: 8 });
  expect(writeScaled({ work: "memcpy:*", divisor: 3 })).toBe("memcpy:*=1/3");
  expect(parseScaled(undefined)).toEqual({ work: "kernel:*", divisor: 1 });
});

test("the command has the options of the server in its order, and quotes what a shell would read", () => {
  const changes = parseChanges("no_sync&scale=kernel:*it's*=1/2");
  expect(commandLine(changes, offers, [["--rank", "3"]])).toBe(
    `stepscope whatif PATH --scale 'kernel:*it'\\''s*=1/2' --no-sync --rank 3`,
  );
});

test("a saving that is not known has a reason and no figure", () => {
  const table = madeTable(
    ["change", "step_ns", "then_ns", "saving_ns", "low_ns", "high_ns", "saving_ratio", "bound", "confidence"],
    [
      ["no-sync", 100, 80, 20, 15, 25, 0.2, "at most", "high"],
      ["cuda-graph", 100, null, null, null, null, null, "at most", "high"],
    ],
  );
  const report = {
    ...madeReport("whatif", table),
    missing: [{ path: "rows[1].saving_ns", label: "cuda-graph", reason: words("no device events") }],
  };
  const [known, unknown] = savingsOf(report);
  expect(known).toMatchObject({ step: 100, saving: 20, low: 15, high: 25, bound: "at most" });
  expect(unknown).toMatchObject({ step: 100, saving: null, reason: "no device events" });
});

test("what a change saves alone comes from the report of the path", () => {
  const changes = madeTable(["change", "saving_ns"], [["no-sync", 20_000_000]], { name: "changes" });
  const report = madeReport("critical", changes);
  const [scale, noSync] = offers as [Offer, Offer];
  expect(usualSaving(report, noSync)).toBe("≤ 20.00 ms");
  // What saves next to nothing is not in the report.
  expect(usualSaving(report, { ...scale, option: "--no-copies" })).toBe("< 0.1 %");
  const unknown = { ...report, missing: [{ path: "changes", label: "savings", reason: words("model error") }] };
  expect(usualSaving(unknown, noSync)).toBeUndefined();
});
