// One function a question, and a memory of the answers: going back to a page shows it at once.
import { askJson, askNumbers, isAborted, postJson } from "./client";
import { revisionOf } from "./revisions";
import type { Matches, Report, SpanDetails, TimelineCurves, TimelineOutline } from "./types";

/** One recording of one rank, in one state of its run. */
export type SourceKey = { run: string; rank: number; window: number; revision: number };

export type Parameters = Record<string, string | number | undefined>;

const REMEMBERED = 40;
const remembered = new Map<string, Promise<unknown>>();

export function analysis(run: string, name: string, parameters: Parameters): Promise<Report> {
  return remember(run, `/analyses/${name}${query(parameters)}`, withExactCells);
}

export function outline(source: SourceKey): Promise<TimelineOutline> {
  return remember(source.run, `/timeline${query({ rank: source.rank, window: source.window })}`);
}

export function span(source: SourceKey, spanId: number, signal: AbortSignal): Promise<SpanDetails> {
  const address = `${runAddress(source.run)}/spans/${source.rank}.${source.window}.${spanId}`;
  return askJson(address, signal, source.revision);
}

export function search(source: SourceKey, text: string, signal: AbortSignal): Promise<Matches> {
  const parameters = { q: text, rank: source.rank, window: source.window, limit: 1000 };
  return askJson(`${runAddress(source.run)}/search${query(parameters)}`, signal, source.revision);
}

export function curves(
  { run, rank, window, revision }: SourceKey,
  from: number,
  to: number,
  width: number,
  signal: AbortSignal,
): Promise<TimelineCurves> {
  const parameters = { rank, window, from, to, width };
  return askNumbers(`${runAddress(run)}/timeline/counters${query(parameters)}`, signal, revision);
}

export async function sql(run: string, statement: string, limit: number, signal?: AbortSignal): Promise<Report> {
  const body = { statement, limit };
  return withExactCells(await postJson<Report>(`${runAddress(run)}/sql`, body, signal, revisionOf(run)));
}

export function laneAddress(source: SourceKey, track: number, from: number, to: number, width: number): string {
  const parameters = { rank: source.rank, window: source.window, from, to, width };
  return `${runAddress(source.run)}/timeline/tracks/${track}${query(parameters)}`;
}

function runAddress(run: string): string {
  return `api/runs/${encodeURIComponent(run)}`;
}

function query(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  if (given.length === 0) return "";
  return "?" + given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
}

/** Integers that no number holds come as texts, digit by digit; in columns of numbers they are integers again. */
function withExactCells(report: Report): Report {
  for (const part of report.parts) {
    if (part.kind !== "table") continue;
    const places = part.columns.flatMap((column, place) => (column.unit === "plain" ? [] : [place]));
    for (const row of part.rows) {
      for (const place of places) {
        const cell = row[place];
        if (typeof cell === "string" && /^-?\d{16,19}$/.test(cell)) row[place] = BigInt(cell);
      }
    }
  }
  return report;
}

/** Each state of a run has answers of its own; those of states that are gone are the oldest, and forgotten first. */
function remember<T>(run: string, path: string, refine: (answer: T) => T = (answer) => answer): Promise<T> {
  const revision = revisionOf(run);
  const key = JSON.stringify([run, revision, path]);
  const known = remembered.get(key);
  if (known) return known as Promise<T>;
  const answer = askJson<T>(runAddress(run) + path, undefined, revision).then(refine);
  remembered.set(key, answer);
  answer.catch((error) => {
    if (isAborted(error) || remembered.get(key) === answer) remembered.delete(key);
  });
  const oldest = remembered.keys().next();
  if (remembered.size > REMEMBERED && !oldest.done) remembered.delete(oldest.value);
  return answer;
}
