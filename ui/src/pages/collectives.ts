// Single collectives: one row for each, with what its ranks waited and which of them came last. The shortest time of
// all ranks is the transfer, and the rank that has it arrived last; clocks need not agree (`comms` matches the same way).
import { words } from "../format/say";
import { tables } from "../report/table";
import type { Choices } from "../state/route";
import type { Cell, Column, Report, TablePart } from "../server/types";

/** Rows at most: those with the longest waiting. */
export const MOST_COLLECTIVES = 1000;

export type CollectiveScope = {
  rank?: number;
  window?: number;
  /** Places of steps in the recording. */
  steps?: { first: number; last: number };
  /** Nanoseconds from the first step. */
  range?: { from: number; to: number };
};

/**
 * Every collective of every rank, with the ones of other ranks that belong to it as `wait_ns`, `transfer_ns` and
 * `last_rank`. Those are null where not all ranks of the group have it, or have something else in its place.
 */
export function matchedCollectives(): string {
  return `
  SELECT *,
    CASE WHEN is_matched THEN dur_ns - least_ns END AS wait_ns,
    CASE WHEN is_matched THEN least_ns END AS transfer_ns,
    CASE WHEN is_matched THEN last END AS last_rank
  FROM (
    SELECT *,
      min(dur_ns) OVER together AS least_ns,
      first_value(rank) OVER (PARTITION BY group_id, "window", number, turn ORDER BY dur_ns, rank) AS last,
      count(*) OVER together > 1 AND count(*) OVER together = max(rank_number) OVER (PARTITION BY group_id)
        AND min(called) OVER together = max(called) OVER together AS is_matched
    FROM (
      SELECT *,
        dense_rank() OVER (PARTITION BY group_id ORDER BY rank) AS rank_number,
        CASE WHEN has_seq = 1 THEN seq ELSE ordinal END AS number,
        CASE WHEN has_seq = 1
          THEN row_number() OVER (PARTITION BY group_id, "window", rank, seq ORDER BY ordinal) ELSE 1 END AS turn
      FROM (
        SELECT *, CASE WHEN is_host THEN kernel ELSE collective END AS called,
          min(CASE WHEN seq IS NULL THEN 0 ELSE 1 END) OVER (PARTITION BY group_id) AS has_seq
        FROM all_collectives WHERE ordinal IS NOT NULL
      )
    )
    WINDOW together AS (PARTITION BY group_id, "window", number, turn)
  )`;
}

/** Where the times of each recording begin. */
export const FIRST_STEPS = `SELECT rank, "window", min(start_ns) AS zero_ns FROM steps GROUP BY rank, "window"`;

/** A collective on one rank in the timeline, with a little around it. */
export function spanPlace(rank: number, spanId: number, start: number | null, dur: number): Choices {
  const around = Math.max(dur, 10_000);
  return {
    rank: String(rank),
    window: undefined,
    sel: String(spanId),
    view: start === null ? undefined : `${Math.round(start - around)},${Math.round(start + dur + around)}`,
  };
}

/** One row per collective, the longest waiting first; `of_all` counts those before the limit. */
export function collectivesStatement(scope: CollectiveScope, limit: number): string {
  const own = scope.rank === undefined ? "rank >= 0" : `rank = ${scope.rank}`;
  const conditions = [
    scope.window === undefined ? undefined : `"window" = ${scope.window}`,
    scope.steps && `step BETWEEN ${scope.steps.first} AND ${scope.steps.last}`,
  ].filter(Boolean);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  const inRange = scope.range ? ` AND start_ns < ${scope.range.to} AND start_ns + time_ns > ${scope.range.from}` : "";
  return `
SELECT *, CAST(count(*) OVER () AS BIGINT) AS of_all FROM (
  SELECT min(called) AS collective, min(process_group) AS process_group, min(step) AS step,
    min(CASE WHEN is_shown THEN start_ns - zero_ns END) AS start_ns, count(*) AS ranks,
    max(message_bytes) AS message_bytes, max(CASE WHEN ${own} THEN dur_ns END) AS time_ns,
    min(transfer_ns) AS transfer_ns, max(CASE WHEN ${own} THEN wait_ns END) AS max_wait_ns,
    sum(CASE WHEN ${own} THEN wait_ns END) AS wait_ns, min(last_rank) AS last_rank, min(dtype) AS dtype,
    min(CASE WHEN is_shown THEN rank END) AS shown_rank, min(CASE WHEN is_shown THEN span_id END) AS span_id,
    min(CASE WHEN is_shown THEN dur_ns END) AS shown_ns
  FROM (
    SELECT one.*, zero_ns, row_number() OVER (
      PARTITION BY group_id, one."window", number, turn ORDER BY CASE WHEN one.${own} THEN 0 ELSE 1 END, dur_ns, one.rank
    ) = 1 AS is_shown
    FROM (${matchedCollectives()}) AS one
    LEFT JOIN (${FIRST_STEPS}) AS zero
      ON zero.rank = one.rank AND zero."window" = one."window"
  ) ${where}
  GROUP BY group_id, "window", number, turn
) WHERE time_ns IS NOT NULL${inRange}
ORDER BY wait_ns DESC NULLS LAST, time_ns DESC, start_ns LIMIT ${limit}`;
}

const column = (name: string, label: string, more: Partial<Column> = {}): Column => ({
  name,
  label,
  unit: "plain",
  look: "value",
  class: null,
  from_width: 0,
  ...more,
});

const COLUMNS: Column[] = [
  column("collective", "collective", { look: "operator" }),
  column("process_group", "group"),
  column("step", "step", { unit: "id" }),
  column("start_ns", "start", { unit: "ns" }),
  column("ranks", "ranks"),
  column("message_bytes", "size", { unit: "moved_bytes" }),
  column("time_ns", "time", { unit: "ns" }),
  column("transfer_ns", "transfer", { unit: "ns" }),
  column("wait_ns", "wait", { unit: "ns", look: "bar", class: "communication" }),
  column("last_rank", "last rank", { unit: "id" }),
  column("max_wait_ns", "longest wait", { unit: "ns", from_width: 140 }),
  column("dtype", "type", { from_width: 140 }),
  column("shown_rank", "rank", { look: "hidden", unit: "id" }),
  column("span_id", "span", { look: "hidden", unit: "id" }),
  column("shown_ns", "time on that rank", { look: "hidden", unit: "ns" }),
];

const REASONS: Record<string, string> = {
  process_group: "collective metadata not recorded",
  message_bytes: "collective metadata not recorded",
  dtype: "collective metadata not recorded",
  step: "outside steps",
  start_ns: "no steps recorded",
};

/** The answer as a report, so that it is shown as any other table. */
export function collectivesReport(answer: Report, nameOfStep: (place: number) => string, hasRanks: boolean): Report {
  const found = tables(answer)[0];
  const places = COLUMNS.map((column) => found?.columns.findIndex((other) => other.name === column.name) ?? -1);
  const step = COLUMNS.findIndex((column) => column.name === "step");
  const rows = (found?.rows ?? []).map((row): Cell[] =>
    places.map((place, at) => {
      const cell = place < 0 ? null : (row[place] ?? null);
      return at === step && typeof cell === "number" ? nameOfStep(cell) : cell;
    }),
  );
  const counted = found?.columns.findIndex((column) => column.name === "of_all") ?? -1;
  const all = Number(found?.rows[0]?.[counted] ?? 0);
  const waits = hasRanks
    ? "ranks do not match: not all recorded the same"
    : "ranks do not match: only one rank available";
  const reasons = { ...REASONS, transfer_ns: waits, max_wait_ns: waits, wait_ns: waits, last_rank: waits };
  const table: TablePart = {
    kind: "table",
    name: "rows",
    title: null,
    columns: COLUMNS,
    rows,
    total: null,
    sorted_by: "-wait_ns",
    left_out: all - rows.length,
    notes: [...(all > rows.length ? ["longest waits"] : []), "wait: sum over all ranks"].map(words),
    is_beside: false,
  };
  const missing = Object.entries(reasons).map(([path, reason]) => ({ path, label: path, reason: words(reason) }));
  return { name: answer.name, parts: [table], missing };
}
