import { expect, test } from "vitest";
import type { Cell, Column, Part, Report, Unit } from "../server/types";
import {
  changeTables,
  classesOf,
  remarks,
  stepsOf,
  verdictIn,
  withRest,
  type ChangeRow,
} from "./comparison";

function column(name: string, look: Column["look"] = "value"): Column {
  const unit: Unit = name.endsWith("_ns") ? "ns" : name.endsWith("_ratio") ? "ratio" : "plain";
  return { name, label: null, unit, look, class: null, from_width: 0 };
}

function table(name: string, title: string | null, columns: string[], rows: Cell[][], total: Cell[] | null = null): Part {
  return {
    kind: "table",
    name,
    title,
    columns: columns.map((each) => column(each)),
    rows,
    total,
    sorted_by: null,
    left_out: 0,
    notes: [],
    is_beside: false,
  };
}

function text(role: "headline" | "plain", ...lines: string[]): Part {
  const sentences = lines.map((words) => [{ words }]);
  return { kind: "text", role, lines: sentences, explains: null, right: null, tone: "plain", is_code: false };
}

const SIDES = ["a_per_step_ns", "b_per_step_ns", "difference_per_step_ns", "noise"];
const REPORT: Report = {
  name: "diff",
  parts: [
    text("headline", "B is 4 ms slower per step."),
    text("plain", "slower"),
    text("plain", "1 operator only in B: aten::set_.", "2 operators only in A: aten::cat, aten::narrow."),
    table(
      "class_rows",
      "CLASS",
      ["class", ...SIDES, "meaning"],
      [
        ["kernel", 6, 9, 3, "changed", "kernels that compute"],
        ["other", 1, 2, 1, "within noise", "host time outside operators"],
      ],
      ["step", 7, 11, 4, "", ""],
    ),
    table(
      "rows",
      "ON THE CRITICAL PATH",
      ["class", "name", ...SIDES],
      [
        ["kernel", "gemm_128", 6, 9, 3, "changed"],
        ["other", null, 1, 2, 1, "within noise"],
      ],
      ["step", "", 7, 11, 4, ""],
    ),
    table("operator_rows", "OPERATOR, ON DEVICES", ["name", ...SIDES, "spans_a_per_step", "spans_b_per_step"], [
      ["aten::mm", 6, 9, 3, "changed", 2, 3],
    ]),
    table("kernel_rows", "KERNEL", ["name", "name_in_b", "operator", ...SIDES], [
      ["gemm_64", "gemm_128", "aten::mm", 6, 9, 3, "changed"],
      ["Memcpy HtoD (Pageable -> Device)", null, "aten::copy_", 1, 1, 0, "within noise"],
    ]),
    table("moved", "MOVED, EQUALLY LONG", ["name", "stream_a", "stream_b", "on_path_a_per_step_ns", "on_path_b_per_step_ns"], [
      ["aten::item", 20, 14, 8, 0],
    ]),
    table("module_rows", "MODULE, ON DEVICES", ["path", ...SIDES], []),
    table("memory_rows", "PEAK MEMORY", ["device", "peak_a_bytes", "peak_b_bytes", "difference_bytes"], [
      ["gpu0", null, 344, null],
    ]),
    table("verdict", null, ["verdict", "p", "shift_ratio", "low_ratio", "high_ratio"], [["slower", 0.002, 0.5, 0.4, 0.6]]),
    table("step_rows", null, ["run", "name", "start_ns", "dur_ns"], [
      ["A", "ProfilerStep#2", 1767225601000000000n, 7],
      ["B", "ProfilerStep#2", 1767225701000000000n, 11],
    ]),
  ],
  missing: [],
};

const shown = (id: string) => changeTables(REPORT).find((table) => table.id === id)!;

test("verdict, steps and classes are those of the server", () => {
  expect(verdictIn(REPORT)).toMatchObject({ word: "slower", p: 0.002, shift: 0.5, range: [0.4, 0.6] });
  expect(stepsOf(REPORT, "B")).toEqual([{ name: "ProfilerStep#2", start: 1767225701000000000n, dur: 11 }]);
  expect(classesOf(REPORT)[1]).toEqual({ name: "other", a: 1, b: 2, meaning: "host time outside operators" });
  expect(remarks(REPORT)).toHaveLength(2);
});

test("runs that cannot be compared have no verdict", () => {
  const report: Report = { name: "diff", parts: [text("headline", "No comparison: step sources differ.")], missing: [] };
  expect(verdictIn(report)).toBeUndefined();
  expect([...changeTables(report), ...classesOf(report), ...stepsOf(report, "A"), ...remarks(report)]).toEqual([]);
});

test("steps that are too few to be tested say so", () => {
  const verdict = table("verdict", null, ["verdict", "p", "shift_ratio", "low_ratio", "high_ratio"], [["not tested", null, null, null, null]]);
  const parts = [text("headline", "B is faster."), text("plain", "not tested: 5 independent steps on each side are needed"), verdict];
  expect(verdictIn({ name: "diff", parts, missing: [] })).toEqual({
    word: "not tested",
    p: null,
    shift: null,
    range: null,
    reason: "5 independent steps on each side are needed",
  });
});

test("tables without rows are not shown", () => {
  expect(changeTables(REPORT).map((table) => table.id)).toEqual(["rows", "operator_rows", "kernel_rows", "memory_rows", "moved"]);
});

test("rows have what the page needs of their table", () => {
  expect(shown("rows")).toMatchObject({ total: { a: 7, b: 11, change: 4 }, what: "rows add up to the difference" });
  expect(shown("rows").rows.map((row) => row.page)).toEqual(["kernels", undefined]);
  expect(shown("operator_rows")).toMatchObject({ what: "on devices", pairs: [["calls", "plain"]] });
  expect(shown("operator_rows").rows[0]).toMatchObject({ name: "aten::mm", pairs: [[2, 3]], noise: "changed" });
  expect(shown("kernel_rows").rows.map((row) => [row.nameInB, row.page])).toEqual([["gemm_128", "kernels"], [null, "transfers"]]);
  // The difference of moved work is made here, and what is not known stays so.
  expect(shown("moved").rows[0]).toMatchObject({ a: 8, b: 0, change: -8, pairs: [[20, 14]], noise: undefined });
  expect(shown("memory_rows").rows[0]).toMatchObject({ a: null, b: 344, change: null });
});

test("rows that are not shown are one sum", () => {
  const row = (a: number, b: number | null): ChangeRow => ({
    name: "x",
    nameInB: null,
    of: null,
    class: null,
    pairs: [],
    noise: undefined,
    page: undefined,
    a,
    b,
    change: b === null ? null : b - a,
  });
  const rows = [row(1, 9), row(2, 4), row(3, 4), row(5, null)];
  expect(withRest(rows, 2)).toEqual({ first: rows.slice(0, 2), rest: { count: 2, a: 8, b: 4, change: 1 } });
  expect(withRest(rows, 4).rest).toBeUndefined();
});
