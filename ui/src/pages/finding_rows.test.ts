import { expect, test } from "vitest";
import { written } from "../format/say";
import { headline, textFor } from "../report/table";
import { madeReport, madeTable } from "../report/made_table";
import type { Report, Sentence, TextPart } from "../server/types";
import { findingsOf, savingOf } from "./finding_rows";

const text = (role: TextPart["role"], ...lines: Sentence[]): TextPart => ({
  kind: "text",
  role,
  lines,
  explains: null,
  right: null,
  tone: "plain",
  is_code: false,
});

/** A report whose sentences have other words. */
const told = (change: (words: string) => string): Report => {
  const words = (of: string): Sentence[number] => ({ words: change(of) });
  const idle: Sentence = [words("The GPU is idle "), { figure: { value: 0.334, unit: "ratio", rounding: "usual" } }];
  const show: Sentence = [
    { target: { ask: "comms", group_by: null, sort: null } },
    words("\n"),
    { target: { ask: "steps", group_by: "rank", sort: null } },
  ];
  const row = ["low_utilization", "high", { sentence: idle }, { sentences: [idle, idle] }, { sentence: show }];
  const report = madeReport("diagnose", madeTable(["rule", "severity", "title", "evidence", "show"], [row]));
  report.parts.push(text("head", [words("run")], [words("2 GPUs · 3 steps"), { separator: null }, ...idle]));
  report.parts.push(text("headline", idle), text("health", [words("partial: JSON ends early")]));
  return report;
};

test.each([["as they are", (words: string) => words], ["others", (words: string) => words.replaceAll(/\S/g, "z")]])(
  "nobody reads the words of a report: %s",
  (_, change) => {
    const report = told(change);
    const [finding] = findingsOf(report);
    expect(finding?.show.map((target) => target.ask)).toEqual(["comms", "steps"]);
    expect(finding?.severity).toBe("high");
    expect(finding?.evidence).toHaveLength(2);
    expect(written(finding!.title)).toBe(`${change("The GPU is idle ")}33.4 %`);
    expect(headline(report)).toEqual(finding?.title);
    expect(textFor(report, "head")?.lines[1]?.filter((piece) => "separator" in piece)).toHaveLength(1);
  },
);

test("a finding says what its fix saves, or why that is not known", () => {
  const columns = ["rule", "saving_ns", "saving_low_ns", "saving_high_ns", "bound", "confidence", "change", "saving_null"];
  const rows = [
    ["data_loading", 39.6e6, 35e6, 42e6, "at most", "high", "input_ready", null],
    ["pageable_copies", null, null, null, null, null, "async_copies_to_device", "model error"],
    // No replay shows what more memory does.
    ["memory_pressure", null, null, null, null, null, null, "not applicable"],
  ];
  const findings = findingsOf(madeReport("diagnose", madeTable(columns, rows)));
  expect(findings.map((finding) => written(savingOf(finding)))).toEqual([
    "Saves at most 39.60 ms per step: 35.00 ms to 42.00 ms, confidence high.",
    "Saving not known: model error.",
    "",
  ]);
});

test("a report without savings says nothing about them", () => {
  const [finding] = findingsOf(told((words) => words));
  expect(savingOf(finding!)).toEqual([]);
});
