// Findings as the rows of their report.
import { numberOf } from "../format/number";
import { savingSentence, type PredictedSaving } from "../format/saving";
import { say, sentencesIn } from "../format/say";
import type { Cell, Report, Sentence, Target } from "../server/types";
import { cellNamed, tables } from "../report/table";

export type Finding = {
  rule: string;
  severity: string;
  title: Sentence;
  what: string;
  why: string;
  stake: Cell;
  /** What the fix saves per step, replayed. */
  saving: PredictedSaving | undefined;
  /** Why that is not known; undefined where no replay shows what the fix does. */
  noSaving: string | undefined;
  evidence: Sentence[];
  fix: string;
  notThis: string;
  show: Target[];
};

export function findingsOf(report: Report): Finding[] {
  const table = tables(report).find((table) => table.columns.some((column) => column.name === "rule"));
  const text = (row: number, name: string) => String(cellNamed(table, row, name) ?? "");
  const predicted = (row: number): PredictedSaving | undefined => {
    const number = (name: string) => numberOf(cellNamed(table, row, name));
    const [saving, low, high] = [number("saving_ns"), number("saving_low_ns"), number("saving_high_ns")];
    if (saving === null || low === null || high === null) return undefined;
    return { saving, low, high, bound: text(row, "bound"), confidence: text(row, "confidence") };
  };
  return (table?.rows ?? []).map((_, row) => ({
    rule: text(row, "rule"),
    severity: text(row, "severity"),
    title: sentencesIn(cellNamed(table, row, "title"))[0] ?? [],
    what: text(row, "what"),
    why: text(row, "why"),
    stake: cellNamed(table, row, "at_stake_ns"),
    saving: predicted(row),
    noSaving: cellNamed(table, row, "change") === null ? undefined : text(row, "saving_null") || undefined,
    evidence: sentencesIn(cellNamed(table, row, "evidence")),
    fix: text(row, "fix"),
    notThis: text(row, "not_this"),
    show: targetsIn(cellNamed(table, row, "show")),
  }));
}

/** What the fix saves, or why that is not known; nothing where no replay shows what it does. */
export function savingOf({ saving, noSaving }: Finding): Sentence {
  if (saving) return savingSentence(saving);
  return noSaving === undefined ? [] : say`Saving not known: ${noSaving}.`;
}

function targetsIn(cell: Cell): Target[] {
  return sentencesIn(cell).flat().flatMap((piece) => ("target" in piece ? [piece.target] : []));
}
