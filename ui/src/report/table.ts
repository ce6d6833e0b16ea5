// The parts of a report by kind and name.
import { written } from "../format/say";
import type { Cell, Report, Role, Sentence, TablePart, TextPart } from "../server/types";

export function tables(report: Report): TablePart[] {
  return report.parts.filter((part) => part.kind === "table");
}

export function tableNamed(report: Report | undefined, name: string): TablePart | undefined {
  return report && tables(report).find((table) => table.name === name);
}

/** The first text that is for that. */
export function textFor(report: Report, role: Role): TextPart | undefined {
  return report.parts.filter((part) => part.kind === "text").find((text) => text.role === role);
}

/** The sentence that says it all. */
export function headline(report: Report): Sentence | undefined {
  return textFor(report, "headline")?.lines[0];
}

/** Why the value of a path is missing. */
export function reasonOf(report: Report, isMeant: (path: string) => boolean): string | undefined {
  const missing = report.missing.find((missing) => isMeant(missing.path));
  return missing && written(missing.reason);
}

/** The place of a column by its name; a row without it gives null. */
export function cellNamed(table: TablePart | undefined, row: number, name: string): Cell {
  const place = table?.columns.findIndex((column) => column.name === name) ?? -1;
  return place < 0 ? null : (table?.rows[row]?.[place] ?? null);
}
