// Which columns of a table are shown, and how: formats, units, widths, the scale of bars.
import { written } from "../format/say";
import { columnLabel, sentenceCase } from "../format/names";
import { asFigure, formatOf, formatOfHeader, numberOf, show, symbolOf, type Format } from "../format/number";
import { kernelLabels } from "../format/kernel_labels";
import type { Cell, Column, Missing, TablePart } from "../server/types";
import { CALLED_FROM, MADE_FROM } from "./row_keys";

export type ShownColumn = {
  column: Column;
  /** Place in the rows. */
  place: number;
  label: string;
  /** Unit for the header, if it is not in the label. */
  symbol: string;
  format: Format;
  isNumber: boolean;
  /** The largest value, for bars. */
  largest: number;
  /** Why values may be missing. */
  reason: string;
  width: string;
  /** What kernels are called in this table, by their full names. */
  kernels?: Map<string, string>;
  /** Place of the column that holds in full what this one shortens. */
  whole?: number;
};

/** How rows are counted: as they are, divided by steps, or divided by the calls of each row. */
export type Values = "sum" | "step" | "call";

const LETTER_PX = 9.5;
const SMALLEST_NUMBER_PX = 72;
/** A short word of wide letters, such as `memory`, is not cut. */
const LEAST_TEXT_PX = 76;
const WIDEST_TEXT_PX = 320;
/** Rows whose texts are measured for the width of a column. */
const MEASURED_ROWS = 200;

/** Why a column that the page makes has no value. */
const WITHOUT: Record<string, string> = { [CALLED_FROM]: "no Python frame recorded around it" };

/** Whether a column is shown when nobody has chosen columns. */
export function isShownAtFirst(column: Column, width: number): boolean {
  // The terminal gives up columns below so many characters; with its air a character is about this wide here.
  return column.look !== "hidden" && column.look !== "detail" && column.from_width * LETTER_PX <= width;
}

/**
 * The headers of columns, each different: where two read the same, as the shares of device and host time do, they name
 * what they belong to.
 */
export function distinctLabels(columns: Column[]): string[] {
  const labels = columns.map((column) => columnLabel(column) || sentenceCase(column.name.replaceAll("_", " ")));
  const isRepeated = (label: string) =>
    labels.filter((other) => other.toLowerCase() === label.toLowerCase()).length > 1;
  return labels.map((label, place) => {
    if (!isRepeated(label)) return label;
    const column = columns[place]!;
    const own = columnLabel({ ...column, label: null });
    return column.unit === "ratio" ? `${own} ${label.toLowerCase()}` : own;
  });
}

/** The columns that can be chosen: those with values, and those that are shown without being asked for. */
export function choosableColumns(table: TablePart): Column[] {
  const hasValues = (place: number) => table.rows.some((row) => (row[place] ?? null) !== null);
  return table.columns.filter(
    (column, place) => column.look !== "detail" && (column.look !== "hidden" || hasValues(place)),
  );
}

/** A query's columns keep their names and its values all digits, so that they can be used in the next query. */
export type Spelling = "raw" | "designed";

export function shownColumns(
  table: TablePart,
  missing: Missing[],
  isShown: (column: Column) => boolean,
  spelling: Spelling = "designed",
): ShownColumn[] {
  const shown = table.columns
    .map((column, place) => ({ column, place }))
    .filter(({ column }) => isShown(column))
    .map(({ column, place }) => describe(table, column, place, missing, spelling));
  if (spelling === "designed") {
    const labels = distinctLabels(shown.map((each) => each.column));
    shown.forEach((each, at) => each.label !== "" && (each.label = labels[at]!));
  }
  const wide =
    shown.find((each) => each.column.look === "operator" || each.column.look === "kernel") ??
    shown.find((each) => !each.isNumber && each.column.unit !== "id") ??
    shown[0];
  const made = shown.find((each) => each.whole !== undefined);
  // Names from a trace need room; a step is as short as its number.
  const isName = wide?.column.look === "operator" || wide?.column.look === "kernel";
  if (wide) wide.width = made ? "minmax(170px, 0.8fr)" : isName ? "minmax(240px, 1fr)" : "minmax(120px, 1fr)";
  if (made) made.width = "minmax(240px, 1.6fr)";
  // A picture of the row stands beside its name, where it is seen first.
  const pictures = shown.filter((each) => each.column.look === "stack");
  const rest = shown.filter((each) => each.column.look !== "stack");
  const after = rest.findIndex((each) => each.isNumber);
  return after < 0 ? shown : [...rest.slice(0, after), ...pictures, ...rest.slice(after)];
}

/** The template of a grid row. */
export function gridTemplate(columns: ShownColumn[]): string {
  const widths = columns.map((column) => column.width);
  if (!widths.some((width) => width.includes("fr"))) widths.push("1fr");
  return widths.join(" ");
}

/** The text of one cell, as it is shown. */
export function cellText(shown: ShownColumn, cell: Cell): string {
  if (shown.kernels && typeof cell === "string") return shown.kernels.get(cell) ?? cell;
  return show(shown.format, cell);
}

function describe(
  table: TablePart,
  column: Column,
  place: number,
  missing: Missing[],
  spelling: Spelling,
): ShownColumn {
  const cells = table.rows.map((row) => row[place] ?? null);
  const isRaw = spelling === "raw";
  const label = isRaw ? column.name : columnLabel(column);
  const byUnit = isRaw
    ? ({ kind: "raw" } as const)
    : (formatOfHeader(column.unit, column.label ?? "") ?? formatOf(column.unit, cells));
  const format = column.look === "figure" ? asFigure(byUnit, cells) : byUnit;
  const hasNumbers =
    cells.some((cell) => typeof cell === "number" || typeof cell === "bigint") || column.look === "figure";
  const isNumber = column.unit === "plain" ? hasNumbers : column.unit !== "id";
  const largest = cells.reduce((most: number, cell) => Math.max(most, Math.abs(extent(cell))), 0);
  const reason =
    (isRaw ? "NULL in the result" : WITHOUT[column.name]) ??
    toldReason(missing, column) ??
    "not recorded";
  // Nothing needs no unit.
  const symbol = largest === 0 ? "" : symbolOf(format);
  const source = isRaw ? undefined : MADE_FROM[column.name];
  const whole = source === undefined ? undefined : table.columns.findIndex((other) => other.name === source);
  const kernels = column.look === "kernel" ? kernelLabels(cells.filter((cell) => typeof cell === "string")) : undefined;
  const shown = { column, place, label, symbol, format, isNumber, largest, reason, width: "", kernels, whole };
  const longest = cells
    .slice(0, MEASURED_ROWS)
    .reduce((most: number, cell) => Math.max(most, pictureLook(column) ? 0 : cellText(shown, cell).length), 0);
  const header = label.length + (symbol === "" ? 0 : symbol.length + 2);
  const px = pictureLook(column)
    ? 220
    : isNumber
      ? Math.max(SMALLEST_NUMBER_PX, header * 6.9 + 34, longest * (isRaw ? 8.4 : 7.7) + 20)
      : Math.min(WIDEST_TEXT_PX, Math.max(LEAST_TEXT_PX, header * 6.9 + 34, longest * (isRaw ? 8.4 : 7.6) + 20));
  return { ...shown, width: `${Math.round(px)}px` };
}

function pictureLook(column: Column): boolean {
  return column.look === "stack" || column.look === "spark" || column.look === "length";
}

function extent(cell: Cell): number {
  if (Array.isArray(cell)) return cell.reduce((sum, part) => sum + part, 0);
  return numberOf(cell) ?? 0;
}

/** The table with its sums divided by steps or by each row's calls. Shares, means and extremes stay as they are. */
export function perStepOrCall(table: TablePart, values: Values, steps: number): TablePart {
  if (values === "sum" || (values === "step" && steps < 1)) return table;
  const calls = table.columns.findIndex(
    (column) => column.name === "calls" || column.name === "count" || column.name === "occurrences",
  );
  const isSum = table.columns.map(
    (column, place) =>
      (column.unit === "ns" ||
        column.unit === "bytes" ||
        column.unit === "moved_bytes" ||
        (values === "step" && column.unit === "plain")) &&
      !/^(mean|min|max|p\d+)_/.test(column.name) &&
      !(values === "call" && place === calls),
  );
  const divide = (row: Cell[]) => {
    const by = values === "step" ? steps : numberOf(row[calls] ?? null);
    return row.map((cell, place) => {
      const value = isSum[place] ? numberOf(cell) : null;
      return value === null ? cell : by ? value / by : null;
    });
  };
  return {
    ...table,
    rows: table.rows.map(divide),
    total: values === "call" ? null : table.total && divide(table.total),
  };
}

function toldReason(missing: Missing[], column: Column): string | undefined {
  const told = missing.find((each) => each.path === column.name || each.path.endsWith(`.${column.name}`));
  return told && written(told.reason);
}
