import { expect, test } from "vitest";
import type { Column, TablePart } from "../server/types";
import { perStepOrCall } from "./columns";
import { arrange, asCsv, asTsv, parseSort } from "./rows";

const column = (name: string, unit: Column["unit"] = "plain"): Column => ({
  name,
  label: null,
  unit,
  look: "value",
  class: null,
  from_width: 0,
});

const table: TablePart = {
  kind: "table",
  name: "rows",
  title: null,
  sorted_by: "-time_ns",
  is_beside: false,
  left_out: 0,
  notes: [],
  columns: [column("name"), column("calls"), column("time_ns", "ns"), column("share_ratio", "ratio")],
  rows: [
    ["aten::mm", 10, 500, 0.5],
    ["aten::add_", 2, null, null],
    ["aten::addmm", 4, 400, 0.4],
  ],
  total: ["3 operators", 16, 900, 1],
};

test("nulls are last in both directions", () => {
  expect(arrange(table, "", parseSort("-time_ns"))).toEqual([0, 1, 2]); // As the server sorted it.
  expect(arrange(table, "", parseSort("time_ns"))).toEqual([2, 0, 1]);
  expect(arrange({ ...table, sorted_by: null }, "", parseSort("-time_ns"))).toEqual([0, 2, 1]);
  expect(arrange(table, "", parseSort("name"))).toEqual([1, 2, 0]);
});

test("a filter finds all its words", () => {
  expect(arrange(table, "ADD aten", undefined)).toEqual([1, 2]);
  expect(arrange(table, "conv", undefined)).toEqual([]);
});

test("sums are divided, shares are not", () => {
  expect(perStepOrCall(table, "step", 2).rows[0]).toEqual(["aten::mm", 5, 250, 0.5]);
  expect(perStepOrCall(table, "call", 2).rows[2]).toEqual(["aten::addmm", 4, 100, 0.4]);
  expect(perStepOrCall(table, "call", 2).rows[1]).toEqual(["aten::add_", 2, null, null]);
});

test("rows as text keep names and digits", () => {
  expect(asTsv(table, [0], [0, 2])).toBe("name\ttime_ns\naten::mm\t500");
  expect(asCsv({ ...table, rows: [['a "b", c', 1, 2, null]] })).toBe(
    'name,calls,time_ns,share_ratio\r\n"a ""b"", c",1,2,\r\n',
  );
});
