import { expect, test } from "vitest";
import { madeTable } from "../report/made_table";
import { rowSubject } from "./path_place";

test.each([
  ["classes", ["class", "path_ns"], ["device_gap", 5], { class: "device_gap" }],
  ["kernels", ["name", "class"], ["gemm", "kernel"], { kernel: "gemm" }],
  ["rows", ["name", "path_ns"], ["aten::mm", 5], { operator: "aten::mm" }],
  ["rows", ["class", "name"], ["runtime", "cudaMalloc"], { class: "runtime", name: "cudaMalloc" }],
  // Time that belongs to no name.
  ["rows", ["class", "name"], ["handoff", null], { class: "handoff", name: "" }],
  [
    "rows",
    ["start_ns", "dur_ns", "class", "name", "span_id"],
    [1_700_000_000_000_000_001n, 12, "kernel", "gemm", 7],
    { spanId: 7, start: 1_700_000_000_000_000_001n, dur: 12 },
  ],
] as const)("a row of %s with %j", (name, columns, row, want) => {
  expect(rowSubject(madeTable([...columns], [[...row]], { name }), [...row])).toEqual(want);
});
