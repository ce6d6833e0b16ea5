// Tables for tests: what a test does not speak of is as plain as it can be.
import type { Cell, Column, Report, TablePart } from "../server/types";

export const madeColumn = (name: string, more: Partial<Column> = {}): Column => ({
  name,
  label: null,
  unit: "plain",
  look: "value",
  class: null,
  from_width: 0,
  ...more,
});

export const madeTable = (columns: (string | Column)[], rows: Cell[][], more: Partial<TablePart> = {}): TablePart => ({
  kind: "table",
  name: "rows",
  title: null,
  sorted_by: null,
  is_beside: false,
  left_out: 0,
  notes: [],
  columns: columns.map((column) => (typeof column === "string" ? madeColumn(column) : column)),
  rows,
  total: null,
  ...more,
});

export const madeReport = (name: string, table: TablePart): Report => ({ name, missing: [], parts: [table] });
