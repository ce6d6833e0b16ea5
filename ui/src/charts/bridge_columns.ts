// The columns of a bridge: A, then classes by how much they change, then B. What has no room is one column, so that the
// bars still add up.
import { classLabel, PATH_CLASSES } from "../format/names";

const SHORT: Record<string, string> = {
  cpu_exec: "CPU exec.",
  communication: "Comm.",
  launch_delay: "Launch",
  device_gap: "Gap",
  sync_delay: "Sync",
  unexplained: "Unexpl.",
};

/** The name of a piece that is several classes. */
export const SEVERAL = "several";

export type ClassChange = { name: string; a: number; b: number };
export type Piece = { name: string; from: number; to: number };
export type Column = {
  label: string;
  /** What the column is, in full. */
  title: string;
  isWhole: boolean;
  pieces: Piece[];
  /** What is written: the whole, or the change. */
  value: number;
  /** Where the next column begins. */
  level: number;
};

/** At most so many columns between A and B. */
export function bridge(classes: ClassChange[], most: number): Column[] {
  const ordered = classes.toSorted((x, y) => PATH_CLASSES.indexOf(x.name) - PATH_CLASSES.indexOf(y.name));
  const changes = ordered
    .map(({ name, a, b }) => ({ name, by: b - a }))
    .filter((change) => change.by !== 0)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by));
  const shown = changes.length > most ? changes.slice(0, Math.max(0, most - 1)) : changes;
  const rest = changes.slice(shown.length);
  let level = sum(ordered.map((each) => each.a));
  const column = (name: string, label: string, title: string, by: number): Column => {
    const from = level;
    level += by;
    return { label, title, isWhole: false, pieces: [{ name, from, to: level }], value: by, level };
  };
  const columns = shown.map(({ name, by }) => column(name, SHORT[name] ?? classLabel(name), classLabel(name), by));
  if (rest.length > 0) {
    const names = rest.map((change) => classLabel(change.name)).join(", ");
    columns.push(column(SEVERAL, `${rest.length} more`, names, sum(rest.map((change) => change.by))));
  }
  const sides = { A: ordered.map((each) => each.a), B: ordered.map((each) => each.b) };
  const names = ordered.map((each) => each.name);
  return [whole("A", names, sides.A), ...columns, whole("B", names, sides.B)];
}

function whole(label: string, names: string[], times: number[]): Column {
  let level = 0;
  const pieces = times
    .map((ns, place): Piece => ({ name: names[place]!, from: level, to: (level += ns) }))
    .filter((piece) => piece.to > piece.from);
  return { label, title: label, isWhole: true, pieces, value: level, level };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
