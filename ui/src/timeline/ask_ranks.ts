// Asks for what several ranks on one axis need: their outlines, the offsets of their clocks, and their collectives.
import { figureText, numberOf } from "../format/number";
import { cellNamed, tableNamed } from "../report/table";
import { analysis, outline as askOutline, sql, type SourceKey } from "../server/questions";
import type { Report, Run, Source, TimelineOutline } from "../server/types";
import { chosenRanks, clockAhead, Collectives, deviceTracks, peerTrack, type Instance } from "./ranks";
import type { RankLanes } from "./rows";
import type { Range } from "./view";

/** Collectives that are matched at most. */
const MOST_COLLECTIVES = 100_000;

/** One rank on the axis of the chosen one: times there are those of the server less `zero`. */
export type RankOnAxis = RankLanes & {
  source: SourceKey;
  outline: TimelineOutline;
  /** The time of the rank's clock that is 0 on the server. */
  base: bigint;
  zero: number;
  bounds: Range;
  isAligned: boolean;
};

export type SeveralRanks = { ranks: RankOnAxis[]; collectives: Collectives; of: number; bounds: Range };

export type RanksQuestion = { run: Run; own: Source; outline: TimelineOutline; asked: string };

/** Undefined if the address names no other rank. */
export async function askRanks(question: RanksQuestion, signal: AbortSignal): Promise<SeveralRanks | undefined> {
  const { run, own, outline, asked } = question;
  const all = [...new Set(run.sources.map((source) => source.rank))];
  const comms = await analysis(run.run, "comms", {}).catch(() => undefined);
  const waits = waitsOf(comms);
  const chosen = chosenRanks(asked, all, own.rank, [...waits.keys()]);
  if (!chosen) return undefined;
  const sources = chosen.flatMap((rank) => {
    const ofRank = run.sources.filter((source) => source.rank === rank);
    return ofRank.find((source) => source.window === own.window) ?? ofRank[0] ?? [];
  });
  const keyOf = (source: Source): SourceKey => ({
    run: run.run,
    rank: source.rank,
    window: source.window,
    revision: run.revision,
  });
  const [collectives, ...outlines] = await Promise.all([
    askCollectives(run.run, own.window, chosen, signal),
    ...sources.map((source) => (source.rank === own.rank ? outline : askOutline(keyOf(source)))),
  ]);
  const offsets = new Map([...waits].flatMap(([rank, { offset }]) => (offset === null ? [] : [[rank, offset] as const])));
  const ownBase = BigInt(own.first_ns ?? 0);
  const ranks = sources.map((source, place): RankOnAxis => {
    const [its, base] = [outlines[place]!, BigInt(source.first_ns ?? 0)];
    const isOwn = source.rank === own.rank;
    const ahead = clockAhead(offsets, collectives, source.rank, own.rank);
    // Clocks that nothing brings together: the first steps begin at the same time.
    const zero = ahead === undefined ? its.zero_ns : outline.zero_ns + Number(ownBase - base) + ahead;
    const tracks = deviceTracks(its).map((track) => (isOwn ? track : { ...track, track: peerTrack(source.rank, track.track) }));
    const wait = waits.get(source.rank)?.wait;
    return {
      rank: source.rank,
      title: `Rank ${source.rank}`,
      note: [isOwn ? "time axis" : "", typeof wait === "number" ? `waits ${figureText("ns", wait)}` : "", clockNote(isOwn, ahead)]
        .filter(Boolean)
        .join(" · "),
      tracks,
      source: keyOf(source),
      outline: its,
      base,
      zero,
      bounds: { from: its.start_ns - zero, to: its.end_ns - zero },
      isAligned: ahead !== undefined,
    };
  });
  const bounds = {
    from: Math.min(...ranks.map((rank) => rank.bounds.from)),
    to: Math.max(...ranks.map((rank) => rank.bounds.to)),
  };
  return { ranks, collectives, of: all.length, bounds };
}

function clockNote(isOwn: boolean, ahead: number | undefined): string {
  if (isOwn) return "";
  if (ahead === undefined) return "clock not aligned";
  return ahead === 0 ? "same clock" : `clock ${ahead > 0 ? "+" : "−"}${figureText("ns", Math.abs(ahead))}`;
}

/** Waiting and clock of each rank, those first that make others wait most. */
function waitsOf(comms: Report | undefined): Map<number, { wait: number | null; offset: number | null }> {
  const table = tableNamed(comms, "rows");
  const number = (row: number, name: string) => numberOf(cellNamed(table, row, name));
  const rows = (table?.rows ?? []).map((_, row) => row);
  return new Map(
    rows.map((row) => [
      number(row, "rank") ?? 0,
      { wait: number(row, "wait_ns"), offset: number(row, "clock_offset_estimate_ns") },
    ]),
  );
}

/** The collectives of ranks that all ranks of their group have, matched as `comms` does: by number, else by order. */
async function askCollectives(run: string, window: number, ranks: number[], signal: AbortSignal): Promise<Collectives> {
  const statement = `
    WITH own AS (
      SELECT rank, group_id, collective, span_id, start_ns, dur_ns, ordinal, seq,
             row_number() OVER (PARTITION BY rank, group_id, seq ORDER BY ordinal) AS place
      FROM all_collectives WHERE "window" = ${window} AND ordinal IS NOT NULL
    ), groups AS (
      SELECT group_id, count(seq) = count(*) AS is_numbered, count(DISTINCT rank) AS ranks FROM own GROUP BY group_id
    ), keyed AS (
      SELECT own.*, groups.ranks, CASE WHEN is_numbered THEN seq ELSE ordinal END AS number,
             CASE WHEN is_numbered THEN place ELSE 0 END AS number_place
      FROM own INNER JOIN groups ON groups.group_id = own.group_id
    ), matched AS (
      SELECT group_id, number, number_place, min(dur_ns) AS transfer_ns
      FROM keyed GROUP BY group_id, number, number_place
      HAVING count(*) > 1 AND count(*) = max(ranks) AND min(collective) = max(collective)
    )
    SELECT keyed.rank, span_id, keyed.group_id, keyed.number, keyed.number_place, start_ns, dur_ns, transfer_ns
    FROM keyed INNER JOIN matched
      ON matched.group_id = keyed.group_id AND matched.number = keyed.number
     AND matched.number_place = keyed.number_place
    WHERE keyed.rank IN (${ranks.join(", ")})
    ORDER BY start_ns`;
  const report = await sql(run, statement, MOST_COLLECTIVES, signal);
  const rows = report.parts.flatMap((part) => (part.kind === "table" ? part.rows : []));
  return new Collectives(
    rows.map(
      ([rank, span, group, number, place, start, dur, transfer]): Instance => ({
        rank: Number(rank),
        spanId: Number(span),
        key: [group, number, place].map(String).join("."),
        startNs: BigInt(start as number | bigint),
        durNs: Number(dur),
        transferNs: Number(transfer),
      }),
    ),
  );
}
