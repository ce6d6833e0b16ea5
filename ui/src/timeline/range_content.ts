// What happened in a range: the events that cover it, and those that lie in it or reach into it.
import { numberOf } from "../format/number";
import type { SourceKey } from "../server/questions";
import type { TablePart } from "../server/types";
import { cellNamed } from "../report/table";
import { shortName } from "./short_name";
import type { Range } from "./view";

/** Names that are asked for; a pane shows the first of them. */
const MOST_NAMES = 400;

export type Content = {
  name: string;
  whole: string;
  kind: string;
  calls: number;
  /** Their time inside of the range. */
  ns: number;
  /** The longest of them. */
  spanId: number;
};

/** Events by name with their time inside of the range. One that began before it and ends after it covers it. */
export function contentStatement(range: Range, source: SourceKey, zero: bigint): string {
  const [from, to] = [zero + BigInt(Math.floor(range.from)), zero + BigInt(Math.ceil(range.to))];
  return `SELECT kind, name, covers, count(*) AS calls, sum(inside_ns) AS inside_ns, max(dur_ns) AS longest_ns,
  first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id
FROM (
  SELECT kind, name, span_id, dur_ns, start_ns <= ${from} AND start_ns + dur_ns >= ${to} AS covers,
    least(start_ns + dur_ns, ${to}) - greatest(start_ns, ${from}) AS inside_ns
  FROM spans
  WHERE rank = ${source.rank} AND "window" = ${source.window} AND start_ns < ${to} AND start_ns + dur_ns > ${from}
)
GROUP BY kind, name, covers
ORDER BY covers DESC, inside_ns DESC, longest_ns
LIMIT ${MOST_NAMES}`;
}

const KINDS: Record<string, string> = {
  op: "operator",
  ann: "region",
  py: "frame",
  rt: "call",
  kernel: "kernel",
  memcpy: "copy",
  memset: "fill",
  gpuann: "region on the device",
  sync: "wait",
};

/** Those around the range, the innermost first, and those in it, the longest first. */
export function contentOf(table: TablePart | undefined): { around: Content[]; inside: Content[] } {
  const [around, inside]: [Content[], Content[]] = [[], []];
  (table?.rows ?? []).forEach((_, row) => {
    const text = (name: string) => String(cellNamed(table, row, name) ?? "");
    const number = (name: string) => numberOf(cellNamed(table, row, name)) ?? 0;
    const [kind, whole] = [text("kind"), text("name")];
    const isCovering = cellNamed(table, row, "covers") === true;
    (isCovering ? around : inside).push({
      name: shortName(kind, whole),
      whole,
      kind: KINDS[kind] ?? "event",
      calls: number("calls"),
      ns: number("inside_ns"),
      spanId: number("span_id"),
    });
  });
  return { around, inside };
}
