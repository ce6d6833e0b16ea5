// What the server says about two runs, as the page shows it: the verdict, the steps, and tables of changes.
import { cellNamed, reasonOf, tableNamed } from "../report/table";
import { numberOf } from "../format/number";
import type { Cell, Report, Sentence, TablePart, TextPart, Unit } from "../server/types";

export type Verdict = {
  word: string;
  p: number | null;
  shift: number | null;
  /** Holds the true shift in 98 of 100 cases. */
  range: [number, number] | null;
  /** Why there is no p or no range. */
  reason: string | undefined;
};

/** Undefined if the runs cannot be compared. */
export function verdictIn(report: Report): Verdict | undefined {
  const table = tableNamed(report, "verdict");
  if (!table) return undefined;
  const number = (name: string) => numberOf(cellNamed(table, 0, name));
  const [low, high] = [number("low_ratio"), number("high_ratio")];
  return {
    word: String(cellNamed(table, 0, "verdict")),
    p: number("p"),
    shift: number("shift_ratio"),
    range: low === null || high === null ? null : [low, high],
    reason: reasonOf(report, (path) => path.startsWith("verdict")) ?? untestedBecause(report),
  };
}

/** What the text about the verdict ends with: `not tested: 5 independent steps on each side are needed`. */
function untestedBecause(report: Report): string | undefined {
  const last = textsAbove(report)[1]?.lines[0]?.at(-1);
  return last && "words" in last ? /^not tested: (.*)$/.exec(last.words)?.[1] : undefined;
}

/** What the texts above the tables say besides the headline and the verdict. */
export function remarks(report: Report): Sentence[] {
  return textsAbove(report)
    .slice(2)
    .flatMap((text) => text.lines);
}

function textsAbove(report: Report): TextPart[] {
  const first = report.parts.findIndex((part) => part.kind === "table");
  return report.parts.slice(0, Math.max(0, first)).filter((part) => part.kind === "text");
}

export type ComparedStep = { name: string; start: bigint; dur: number };

export function stepsOf(report: Report, side: "A" | "B"): ComparedStep[] {
  const table = tableNamed(report, "step_rows");
  return (table?.rows ?? []).flatMap((_, row) => {
    const start = cellNamed(table, row, "start_ns");
    if (cellNamed(table, row, "run") !== side || (typeof start !== "bigint" && typeof start !== "number")) return [];
    const name = String(cellNamed(table, row, "name"));
    return [{ name, start: BigInt(start), dur: numberOf(cellNamed(table, row, "dur_ns")) ?? 0 }];
  });
}

/** Time on the critical path by class. */
export function classesOf(report: Report): { name: string; a: number; b: number; meaning: string }[] {
  const table = tableNamed(report, "class_rows");
  return (table?.rows ?? []).map((_, row) => ({
    name: String(cellNamed(table, row, "class")),
    a: numberOf(cellNamed(table, row, "a_per_step_ns")) ?? 0,
    b: numberOf(cellNamed(table, row, "b_per_step_ns")) ?? 0,
    meaning: String(cellNamed(table, row, "meaning") ?? ""),
  }));
}

export type Noise = "changed" | "within noise" | "not tested";
export type Sums = { a: Cell; b: Cell; change: Cell };

export type ChangeRow = Sums & {
  /** Null where time belongs to nothing that has a name. */
  name: string | null;
  /** What B calls it, if that differs. */
  nameInB: string | null;
  /** What tells it apart from rows of the same name: the operator that launches a kernel. */
  of: string | null;
  /** The class of a piece of the critical path. */
  class: string | null;
  /** Further values of A and B, as many as the table has labels for. */
  pairs: [Cell, Cell][];
  noise: Noise | undefined;
  /** The page that has this row in each run. */
  page: string | undefined;
};

export type ChangeTable = {
  id: string;
  title: string;
  /** What the times are, besides the unit. */
  what: string;
  noun: string;
  unit: Unit;
  isKernel: boolean;
  /** Headers of further columns, and the unit of each. */
  pairs: [string, Unit][];
  rows: ChangeRow[];
  /** What all rows add up to, if they do. */
  total: Sums | undefined;
  /** Whether it is as wide as the page. */
  isWide: boolean;
};

/** A cell of a row by the name of its column. */
type CellOf = (name: string) => Cell;
/** What the pages of both runs know. */
type Names = { operators: Set<Cell>; kernels: Set<Cell> };

type Shape = {
  id: string;
  title: string;
  noun: string;
  unit?: Unit;
  isKernel?: boolean;
  isWide?: boolean;
  name: (cell: CellOf) => Cell;
  /** The page that has the row in its run. */
  page?: (cell: CellOf, names: Names) => string | undefined;
  /** Columns of A, B and their difference; the difference of moved work is not a column. */
  sides?: [string, string, string | undefined];
  pairs?: [string, Unit, string, string][];
};

const PER_STEP: [string, string, string] = ["a_per_step_ns", "b_per_step_ns", "difference_per_step_ns"];

/** Device work that no operator launched. */
const NO_OPERATOR = "(no operator)";

/** The page of device work: copies are not kernels. */
const devicePage = (name: Cell) => (/^Mem(cpy|set)\b/.test(String(name)) ? "transfers" : "kernels");

/** The page of a piece of the critical path; annotations, calls and gaps have none. */
function pathPage(cell: CellOf, { operators, kernels }: Names): string | undefined {
  const name = cell("name");
  if (kernels.has(name)) return devicePage(name);
  return operators.has(name) ? "operators" : undefined;
}

const SHAPES: Shape[] = [
  {
    id: "rows",
    title: "On the critical path",
    noun: "Work",
    isWide: true,
    name: (cell) => cell("name"),
    page: pathPage,
  },
  {
    id: "operator_rows",
    title: "Operators",
    noun: "Operator",
    isWide: true,
    name: (cell) => cell("name"),
    page: (cell) => (cell("name") === NO_OPERATOR ? undefined : "operators"),
    pairs: [
      ["calls", "plain", "spans_a_per_step", "spans_b_per_step"],
      ["host", "ns", "host_a_per_step_ns", "host_b_per_step_ns"],
    ],
  },
  {
    id: "kernel_rows",
    title: "Kernels",
    noun: "Kernel",
    isKernel: true,
    isWide: true,
    name: (cell) => cell("name"),
    page: (cell) => devicePage(cell("name")),
  },
  {
    id: "module_rows",
    title: "Modules",
    noun: "Module",
    name: (cell) => cell("path"),
    pairs: [["host", "ns", "host_a_per_step_ns", "host_b_per_step_ns"]],
  },
  {
    id: "communication_rows",
    title: "Communication",
    noun: "Collective",
    name: (cell) => [cell("collective"), cell("process_group")].filter((part) => part !== null).join(", group "),
    pairs: [
      ["size", "moved_bytes", "message_bytes", "message_bytes"],
      ["count", "plain", "count_a_per_step", "count_b_per_step"],
    ],
  },
  {
    id: "memory_rows",
    title: "Memory",
    noun: "Device",
    unit: "bytes",
    name: (cell) => cell("device"),
    sides: ["peak_a_bytes", "peak_b_bytes", "difference_bytes"],
  },
  {
    id: "moved",
    title: "Moved",
    noun: "Operator",
    name: (cell) => cell("name"),
    page: () => "operators",
    sides: ["on_path_a_per_step_ns", "on_path_b_per_step_ns", undefined],
    pairs: [["stream", "id", "stream_a", "stream_b"]],
  },
];

/** The tables that have rows, in the order of the page. */
export function changeTables(report: Report): ChangeTable[] {
  const namesIn = (id: string) => {
    const table = tableNamed(report, id);
    return new Set(["name", "name_in_b"].flatMap((name) => (table?.rows ?? []).map((_, row) => cellNamed(table, row, name))));
  };
  const names = { operators: namesIn("operator_rows"), kernels: namesIn("kernel_rows") };
  for (const each of Object.values(names)) each.delete(null);
  const tables = SHAPES.flatMap((shape) => {
    const table = tableNamed(report, shape.id);
    return table && table.rows.length > 0 ? [changeTable(shape, table, names)] : [];
  });
  const narrow = tables.filter((table) => !table.isWide);
  // The last one has no neighbor.
  if (narrow.length % 2 === 1) narrow.at(-1)!.isWide = true;
  return tables;
}

function changeTable(shape: Shape, table: TablePart, names: Names): ChangeTable {
  const places = new Map(table.columns.map((column, place) => [column.name, place]));
  const isShown = (name: string) => places.has(name) && table.columns[places.get(name)!]?.look !== "hidden";
  const pairs = (shape.pairs ?? []).filter(([, , a]) => isShown(a));
  const cellsOf = (row: Cell[]) => (name: string) => row[places.get(name) ?? -1] ?? null;
  const sumsOf = (cell: CellOf): Sums => {
    const [a, b, change] = shape.sides ?? PER_STEP;
    return { a: cell(a), b: cell(b), change: change === undefined ? minus(cell(b), cell(a)) : cell(change) };
  };
  const text = (cell: Cell) => (cell === null ? null : String(cell));
  return {
    id: shape.id,
    title: shape.title,
    what: whatOf(shape, table),
    noun: shape.noun,
    unit: shape.unit ?? "ns",
    isKernel: shape.isKernel ?? false,
    isWide: shape.isWide ?? false,
    pairs: pairs.map(([label, unit]) => [label, unit]),
    rows: table.rows.map((row) => {
      const cell = cellsOf(row);
      return {
        ...sumsOf(cell),
        name: text(shape.name(cell)),
        nameInB: text(cell("name_in_b")),
        of: text(cell("operator")),
        class: text(cell("class")),
        pairs: pairs.map(([, , a, b]) => [cell(a), cell(b)]),
        noise: (text(cell("noise")) as Noise | null) ?? undefined,
        page: shape.page?.(cell, names),
      };
    }),
    total: table.total === null ? undefined : sumsOf(cellsOf(table.total)),
  };
}

/** `OPERATOR, ON DEVICES` → `on devices`. */
function whatOf(shape: Shape, table: TablePart): string {
  const title = (table.title ?? "").toLowerCase();
  if (shape.id === "memory_rows") return title;
  if (shape.id === "moved") return "device work of equal length, on another stream or another part of the critical path";
  if (shape.id === "rows") return "rows add up to the difference";
  return title.split(", ")[1] ?? "";
}

export type Rest = Sums & { count: number };

/** The first rows, and what all others add up to, so that nothing is left out of a sum. */
export function withRest(rows: ChangeRow[], most: number): { first: ChangeRow[]; rest: Rest | undefined } {
  if (rows.length <= most) return { first: rows, rest: undefined };
  const left = rows.slice(most);
  const sum = (of: (row: ChangeRow) => Cell) => left.reduce((total, row) => total + (numberOf(of(row)) ?? 0), 0);
  const sums = { a: sum((row) => row.a), b: sum((row) => row.b), change: sum((row) => row.change) };
  return { first: rows.slice(0, most), rest: { count: left.length, ...sums } };
}

function minus(b: Cell, a: Cell): Cell {
  const [from, to] = [numberOf(a), numberOf(b)];
  return from === null || to === null ? null : to - from;
}
