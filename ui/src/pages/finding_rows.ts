// Findings as the rows of their report.
import { sentencesIn } from "../format/say";
import type { Cell, Report, Sentence, Target } from "../server/types";
import { cellNamed, tables } from "../report/table";

export type Finding = {
  rule: string;
  severity: string;
  title: Sentence;
  what: string;
  why: string;
  stake: Cell;
  evidence: Sentence[];
  fix: string;
  notThis: string;
  show: Target[];
};

export function findingsOf(report: Report): Finding[] {
  const table = tables(report).find((table) => table.columns.some((column) => column.name === "rule"));
  const text = (row: number, name: string) => String(cellNamed(table, row, name) ?? "");
  return (table?.rows ?? []).map((_, row) => ({
    rule: text(row, "rule"),
    severity: text(row, "severity"),
    title: sentencesIn(cellNamed(table, row, "title"))[0] ?? [],
    what: text(row, "what"),
    why: text(row, "why"),
    stake: cellNamed(table, row, "at_stake_ns"),
    evidence: sentencesIn(cellNamed(table, row, "evidence")),
    fix: text(row, "fix"),
    notThis: text(row, "not_this"),
    show: targetsIn(cellNamed(table, row, "show")),
  }));
}

function targetsIn(cell: Cell): Target[] {
  return sentencesIn(cell).flat().flatMap((piece) => ("target" in piece ? [piece.target] : []));
}
