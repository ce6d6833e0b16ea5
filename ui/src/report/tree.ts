// Rows below the rows that hold them, by a column that names the parent of each.
import type { TablePart } from "../server/types";

export type TreeRow = { place: number; depth: number; hasChildren: boolean; isOpen: boolean };

/** A tree opens as many levels as fit so many rows. */
const ROWS_AT_FIRST = 40;

/** The place of each row's parent; −1 for a row that has none, or is its own ancestor. */
export function parentPlaces(table: TablePart): number[] {
  const column = table.columns.findIndex((column) => column.name === "parent");
  const places = new Map<string, number>();
  table.rows.forEach((row, place) => {
    const name = String(row[0] ?? "");
    if (!places.has(name)) places.set(name, place);
  });
  const parents = table.rows.map((row) => {
    const parent = column < 0 ? null : row[column];
    return typeof parent === "string" ? (places.get(parent) ?? -1) : -1;
  });
  const isOnCircle = (place: number) => {
    let at = parents[place]!;
    for (let steps = 0; at >= 0 && steps <= parents.length; steps++) {
      if (at === place) return true;
      at = parents[at]!;
    }
    return false;
  };
  // Cutting one edge opens its circle for the rows after it.
  for (let place = 0; place < parents.length; place++) if (isOnCircle(place)) parents[place] = -1;
  return parents;
}

/** Rows that are open at first: whole levels from the top, as long as the rows below them are few. */
export function openAtFirst(parents: number[]): Set<number> {
  const children = childrenOf(
    parents.map((_, place) => place),
    parents,
  );
  const open = new Set<number>();
  let level = children.get(-1) ?? [];
  for (let shown = level.length; level.length > 0;) {
    const next = level.flatMap((place) => children.get(place) ?? []);
    shown += next.length;
    if (next.length === 0 || shown > ROWS_AT_FIRST) break;
    for (const place of level) if (children.has(place)) open.add(place);
    level = next;
  }
  return open;
}

/**
 * The rows in sight, parents before children, siblings in the order given. If the order leaves rows out, as a filter
 * does, what it keeps is shown with all that is around it.
 */
export function treeRows(order: number[], parents: number[], isOpen: (place: number) => boolean): TreeRow[] {
  const isFiltered = order.length < parents.length;
  // In the order of insertion: what the filter keeps, then what is around it.
  const kept = new Set(order);
  for (const place of order)
    for (let at = parents[place]!; at >= 0 && !kept.has(at); at = parents[at]!) kept.add(at);
  const children = childrenOf([...kept], parents);
  const rows: TreeRow[] = [];
  const add = (place: number, depth: number) => {
    const below = children.get(place) ?? [];
    const opened = below.length > 0 && (isFiltered || isOpen(place));
    rows.push({ place, depth, hasChildren: below.length > 0, isOpen: opened });
    if (opened) for (const child of below) add(child, depth + 1);
  };
  for (const root of children.get(-1) ?? []) add(root, 0);
  return rows;
}

function childrenOf(order: number[], parents: number[]): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const place of order) {
    const siblings = children.get(parents[place]!);
    if (siblings) siblings.push(place);
    else children.set(parents[place]!, [place]);
  }
  return children;
}
