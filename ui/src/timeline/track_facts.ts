// What is asked about tracks once their lanes are on screen: what their threads are for, and how much overlaps on their
// streams.
import { createMemo } from "solid-js";
import { sql, type SourceKey } from "../server/questions";
import type { Cell } from "../server/types";
import { createAnswer } from "../state/answer";
import type { Role } from "./thread_names";

const MOST_TRACKS = 10_000;

export type TrackFacts = {
  roleOf: (track: number) => Role | undefined;
  /** How many spans of a stream start before another has ended; undefined where that is not known. */
  overlapsOf: (track: number) => number | undefined;
};

export function createTrackFacts(source: SourceKey, isReady: () => boolean): TrackFacts {
  const question = createMemo(() => (isReady() ? source : undefined));
  const [roles] = createAnswer(question, askRoles);
  const [overlaps] = createAnswer(question, askOverlaps);
  return {
    roleOf: (track) => roles.latest?.get(track),
    overlapsOf: (track) => overlaps.latest?.get(track),
  };
}

async function askRoles(source: SourceKey, signal: AbortSignal): Promise<Map<number, Role>> {
  const rows = await ask(source, `SELECT track_id, role, role_from, thread FROM thread_roles WHERE ${of(source)}`, signal);
  return new Map(
    rows.map(([track, role, from, thread]) => [
      Number(track),
      { role: String(role), from: String(from), thread: String(thread ?? "") },
    ]),
  );
}

/** To count takes a while, so it is done only where the trace is known to have some. */
async function askOverlaps(source: SourceKey, signal: AbortSignal): Promise<Map<number, number>> {
  const [known] = await ask(source, `SELECT value FROM health WHERE ${of(source)} AND name = 'same_stream_overlaps'`, signal);
  if (!Number(known?.[0] ?? 0)) return new Map();
  const rows = await ask(
    source,
    `SELECT track_id, count(*) AS overlaps
     FROM (
       SELECT track_id, start_ns, max(start_ns + dur_ns) OVER (
         PARTITION BY track_id ORDER BY start_ns, span_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
       ) AS busy_until
       FROM spans
       WHERE ${of(source)} AND kind IN ('kernel', 'memcpy', 'memset')
     )
     WHERE start_ns < busy_until
     GROUP BY track_id`,
    signal,
  );
  return new Map(rows.map(([track, overlaps]) => [Number(track), Number(overlaps)]));
}

async function ask(source: SourceKey, statement: string, signal: AbortSignal): Promise<Cell[][]> {
  const report = await sql(source.run, statement, MOST_TRACKS, signal);
  return report.parts.flatMap((part) => (part.kind === "table" ? part.rows : []));
}

function of({ rank, window }: SourceKey): string {
  return `rank = ${rank} AND "window" = ${window}`;
}
