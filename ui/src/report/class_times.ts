// Time by class, as a report has it.
import { PATH_CLASSES } from "../format/names";
import { numberOf } from "../format/number";
import { cellNamed } from "./table";
import type { TablePart } from "../server/types";

export type ClassTime = { name: string; ns: number };

/** The times of a table with a row per class, in stacking order; classes without time are left out. */
export function classTimes(table: TablePart | undefined, column: string): ClassTime[] {
  const times = (table?.rows ?? []).map((_, row) => ({
    name: String(cellNamed(table, row, "class")),
    ns: numberOf(cellNamed(table, row, column)) ?? 0,
  }));
  const place = ({ name }: ClassTime) => (PATH_CLASSES.includes(name) ? PATH_CLASSES.indexOf(name) : PATH_CLASSES.length);
  return times.filter(({ ns }) => ns > 0).sort((a, b) => place(a) - place(b));
}

export function sumOf(times: ClassTime[]): number {
  return times.reduce((sum, { ns }) => sum + ns, 0);
}
