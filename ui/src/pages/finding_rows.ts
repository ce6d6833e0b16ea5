// Findings as the rows of their report.
import { sentencesIn } from "../format/say";
import type { Cell, Report, Sentence, Target } from "../server/types";
import { cellNamed, tables } from "../report/table";

export type Finding = {
  rule: string;
  severity: string;
  title: Sentence;
  stake: Cell;
  evidence: Sentence[];
  fix: string;
  notThis: string;
  show: Target | undefined;
};

export function findingsOf(report: Report): Finding[] {
  const table = tables(report).find((table) => table.columns.some((column) => column.name === "rule"));
  const text = (row: number, name: string) => String(cellNamed(table, row, name) ?? "");
  return (table?.rows ?? []).map((_, row) => ({
    rule: text(row, "rule"),
    severity: text(row, "severity"),
    title: sentencesIn(cellNamed(table, row, "title"))[0] ?? [],
    stake: cellNamed(table, row, "at_stake_ns"),
    evidence: sentencesIn(cellNamed(table, row, "evidence")),
    fix: text(row, "fix"),
    notThis: text(row, "not_this"),
    show: targetIn(cellNamed(table, row, "show")),
  }));
}

function targetIn(cell: Cell): Target | undefined {
  const piece = sentencesIn(cell)[0]?.find((piece) => "target" in piece);
  return piece?.target;
}
