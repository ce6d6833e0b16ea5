// What the report of a memory snapshot says of one device, and what is selected on its page.
import type { BlockPlace } from "../charts/segment_map";
import { sentenceCase } from "../format/names";
import { numberOf } from "../format/number";
import { cellNamed, reasonOf, tableNamed } from "../report/table";
import type { Cell, DeviceMemory, Report, TablePart } from "../server/types";

/** Whether the report is one of a snapshot: only these have a history of the allocator. */
export function isSnapshot(report: Report): boolean {
  return tableNamed(report, "history") !== undefined;
}

/** Devices of the snapshot, by number. */
export function deviceIds(report: Report): number[] {
  const ids = ["devices", "history"].flatMap((name) => {
    const table = tableNamed(report, name);
    return (table?.rows ?? []).map((_, row) => numberOf(cellNamed(table, row, "device_id")));
  });
  return [...new Set(ids.filter((id) => id !== null))].sort((a, b) => a - b);
}

/** The value of a column for a device; null where the table has no row of it. */
export function figureOf(report: Report, name: "devices" | "history", device: number, column: string): Cell {
  const table = tableNamed(report, name);
  const row = table?.rows.findIndex((_, row) => numberOf(cellNamed(table, row, "device_id")) === device) ?? -1;
  return row < 0 ? null : cellNamed(table, row, column);
}

/** The device whose memory is used most. */
export function fullestDevice(report: Report): number | undefined {
  const weight = (id: number) =>
    numberOf(figureOf(report, "history", id, "peak_active_bytes")) ??
    numberOf(figureOf(report, "devices", id, "reserved_bytes")) ??
    0;
  const ids = deviceIds(report);
  return ids.reduce((best, id) => (weight(id) > weight(best) ? id : best), ids[0]!);
}

/** Rows of one device; a table without that column is of all devices. */
export function rowsOfDevice(table: TablePart, device: number): TablePart {
  const place = table.columns.findIndex((column) => column.name === "device_id");
  return place < 0 ? table : { ...table, rows: table.rows.filter((row) => numberOf(row[place] ?? null) === device) };
}

/** Why there is no state of the allocator at the end, or no history. */
export function missingState(report: Report): string {
  return reasonOf(report, (path) => path.startsWith("history[].end_") || path.startsWith("devices")) ?? "no snapshot state";
}
export function missingHistory(report: Report): string {
  return reasonOf(report, (path) => path === "rows" || path === "history") ?? "no history recorded";
}

export function categoryLabel(category: string): string {
  return sentenceCase(category.replaceAll("_", " "));
}

/** What is selected on the page: a stack by its place, or a block by its segment and its place in it. */
export type Selection = { owner: number } | BlockPlace;

/** Reads `stack-3` or `block-12.5`; undefined if the device has no such thing. */
export function parseSelection(text: string | undefined, device: DeviceMemory): Selection | undefined {
  const [, stack, segment, block] = /^(?:stack-(\d+)|block-(\d+)\.(\d+))$/.exec(text ?? "") ?? [];
  if (stack !== undefined) return device.owners[Number(stack)] && { owner: Number(stack) };
  const place = { segment: Number(segment), block: Number(block) };
  return device.segments[place.segment]?.blocks[place.block] && place;
}

export function writeSelection(selection: Selection | undefined): string | undefined {
  if (!selection) return undefined;
  return "owner" in selection ? `stack-${selection.owner}` : `block-${selection.segment}.${selection.block}`;
}

/** The address of a block, as debuggers write it, from that of its segment. */
export function hexAddress(address: string | null, offset = 0): string {
  return address === null ? "–" : `0x${(BigInt(address) + BigInt(offset)).toString(16)}`;
}

/** Bytes of the blocks of a device that are in use, by category, most first. */
export function usedByCategory(device: DeviceMemory): [string, number][] {
  const sums = new Map<string, number>();
  for (const segment of device.segments) {
    for (const { state, owner, size_bytes } of segment.blocks) {
      if (state !== "allocated") continue;
      const category = (owner === null ? undefined : device.owners[owner]?.category) ?? "unknown";
      sums.set(category, (sums.get(category) ?? 0) + size_bytes);
    }
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}
