// The parts of a report by kind and name.
import type { Cell, Report, TablePart, TextPart } from "../server/types";

export function tables(report: Report): TablePart[] {
  return report.parts.filter((part) => part.kind === "table");
}

export function tableNamed(report: Report | undefined, name: string): TablePart | undefined {
  return report && tables(report).find((table) => table.name === name);
}

export function texts(report: Report): TextPart[] {
  return report.parts.filter((part) => part.kind === "text");
}

/** The sentence that says it all. */
export function sentence(report: Report): string | undefined {
  return texts(report).find((text) => text.tone === "strong" && text.label === null)?.text;
}

/** The place of a column by its name; a row without it gives null. */
export function cellNamed(table: TablePart | undefined, row: number, name: string): Cell {
  const place = table?.columns.findIndex((column) => column.name === name) ?? -1;
  return place < 0 ? null : (table?.rows[row]?.[place] ?? null);
}
