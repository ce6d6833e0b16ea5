// Findings as the rows of their report.
import type { Cell, Report } from "../server/types";
import { cellNamed, tables } from "../report/table";

export type Finding = {
  rule: string;
  severity: string;
  title: string;
  stake: Cell;
  evidence: string[];
  fix: string;
  notThis: string;
  show: string;
};

export function findingsOf(report: Report): Finding[] {
  const table = tables(report).find((table) => table.columns.some((column) => column.name === "rule"));
  const text = (row: number, name: string) => String(cellNamed(table, row, name) ?? "");
  return (table?.rows ?? []).map((_, row) => ({
    rule: text(row, "rule"),
    severity: text(row, "severity"),
    title: text(row, "title"),
    stake: cellNamed(table, row, "at_stake_ns"),
    evidence: lines(cellNamed(table, row, "evidence")),
    fix: text(row, "fix"),
    notThis: text(row, "not_this"),
    show: text(row, "show"),
  }));
}

function lines(cell: Cell): string[] {
  if (Array.isArray(cell)) return cell.map(String);
  return typeof cell === "string" ? cell.split("\n") : [];
}
