// What tells rows of one name apart, in sight: a table grouped by stack or by shape has both in a detail of each row,
// so that rows of one operator would look the same.
import { shapeLabel } from "../format/names";
import { framesOf, stackLabels } from "../format/stack_labels";
import type { Cell, Column, TablePart } from "../server/types";

export const CALLED_FROM = "called_from";
const SHAPES = "shapes";

/** The columns that the page makes, and what from. */
export const MADE_FROM: Record<string, string | undefined> = { [CALLED_FROM]: "stack", [SHAPES]: "input_shape" };

/** A detail as lines below its row. */
export function detailLines(column: Column, text: string): string[] {
  return column.name === "stack" ? framesOf(text) : text.split("\n");
}

/** What a row is called in the address: its first cell in sight, and which one of that name from the second on. */
export function rowKeys(table: TablePart): string[] {
  const seen = new Map<string, number>();
  const place = Math.max(
    0,
    table.columns.findIndex((column) => column.look !== "hidden"),
  );
  return table.rows.map((row) => {
    const name = String(row[place] ?? "");
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name} (${times})`;
  });
}

/** The table with a column for each detail that rows are grouped by, behind the name. */
export function withKeysShown(table: TablePart): TablePart {
  const made = [
    madeFrom(table, CALLED_FROM, "called from", (rows) =>
      stackLabels(rows.map(([name, stack]) => ({ key: name, stack }))),
    ),
    madeFrom(table, SHAPES, "input shapes", (rows) =>
      rows.map(([, shape]) => (shape === null ? null : shapeLabel(shape))),
    ),
  ].filter((each) => each !== undefined);
  if (made.length === 0) return table;
  const nothing: Cell[] = made.map(() => "");
  return {
    ...table,
    columns: [table.columns[0]!, ...made.map((each) => each.column), ...table.columns.slice(1)],
    rows: table.rows.map((row, at) => [row[0] ?? null, ...made.map((each) => each.cells[at] ?? null), ...row.slice(1)]),
    total: table.total && [table.total[0] ?? null, ...nothing, ...table.total.slice(1)],
  };
}

function madeFrom(
  table: TablePart,
  name: string,
  label: string,
  write: (rows: [string, string | null][]) => (string | null)[],
): { column: Column; cells: (string | null)[] } | undefined {
  const place = table.columns.findIndex((column) => column.name === MADE_FROM[name] && column.look === "detail");
  if (place < 0) return undefined;
  const rows = table.rows.map((row): [string, string | null] => {
    const cell = row[place];
    return [String(row[0] ?? ""), typeof cell === "string" && cell !== "" ? cell : null];
  });
  const column: Column = { name, label, unit: "plain", look: "value", class: null, from_width: 0 };
  return { column, cells: write(rows) };
}
