// Order and filter of rows, and rows as text.
import { numberOf } from "../format/number";
import type { Cell, TablePart } from "../server/types";

export type Sort = { name: string; isDescending: boolean };

export function parseSort(text: string | null | undefined): Sort | undefined {
  if (!text) return undefined;
  return text.startsWith("-") ? { name: text.slice(1), isDescending: true } : { name: text, isDescending: false };
}

export function writeSort(sort: Sort): string {
  return (sort.isDescending ? "-" : "") + sort.name;
}

/** The places of the rows that match the filter, in the order of the sort. Nulls are last in both directions. */
export function arrange(table: TablePart, filter: string, sort: Sort | undefined): number[] {
  const places = table.rows.map((_, place) => place).filter((place) => matches(table.rows[place]!, filter));
  const column = sort ? table.columns.findIndex((column) => column.name === sort.name) : -1;
  if (!sort || column < 0 || writeSort(sort) === table.sorted_by) return places;
  const sign = sort.isDescending ? -1 : 1;
  return places.sort((a, b) => {
    const [left, right] = [table.rows[a]![column] ?? null, table.rows[b]![column] ?? null];
    if (left === null || right === null) return left === right ? a - b : left === null ? 1 : -1;
    return sign * compare(left, right) || a - b;
  });
}

/** Whether all words of the filter stand somewhere in the texts of a row. */
export function matches(row: Cell[], filter: string): boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return true;
  const text = row
    .filter((cell) => typeof cell === "string")
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Rows for a spreadsheet: names as programs know them, values in full. */
export function asTsv(table: TablePart, places: number[], columns: number[]): string {
  const clean = (text: string) => text.replaceAll(/[\t\r\n]+/g, " ");
  const head = columns.map((place) => table.columns[place]!.name).join("\t");
  const lines = places.map((row) => columns.map((place) => clean(plain(table.rows[row]![place] ?? null))).join("\t"));
  return [head, ...lines].join("\n");
}

export function asCsv(table: TablePart): string {
  const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = table.rows.map((row) => row.map((cell) => quote(plain(cell))).join(","));
  return [table.columns.map((column) => quote(column.name)).join(","), ...lines].join("\r\n") + "\r\n";
}

function plain(cell: Cell): string {
  if (cell === null) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

function compare(left: Cell, right: Cell): number {
  if (Array.isArray(left) && Array.isArray(right)) return sum(left) - sum(right);
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== null && b !== null) return a - b;
  return String(left).localeCompare(String(right), "en");
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
