// One function a question, and a memory of the answers: going back to a page shows it at once.
import { sentencesIn, written } from "../format/say";
import { askJson, askNumbers, isAborted, postJson } from "./client";
import { revisionOf } from "./revisions";
import type {
  MemoryPicture,
  NameSearch,
  Report,
  Search,
  SearchMarks,
  SearchStep,
  SpanDetails,
  TimelineCurves,
  TimelineOutline,
  WorstInstance,
} from "./types";

/** One recording of one rank, in one state of its run. */
export type SourceKey = { run: string; rank: number; window: number; revision: number };

export type Parameters = Record<string, string | number | undefined>;

const REMEMBERED = 40;
const remembered = new Map<string, Promise<unknown>>();

export function analysis(run: string, name: string, parameters: Parameters): Promise<Report> {
  return remember(run, `/analyses/${name}${query(parameters)}`, withExactCells);
}

/** What differs between two runs, and what noise says about it. */
export function difference(a: string, b: string, parameters: Parameters): Promise<Report> {
  // An answer about two runs holds as long as both are what they were.
  return remember(a, `/diff/${encodeURIComponent(b)}${query(parameters)}`, withExactCells, revisionOf(b));
}

export function outline(source: SourceKey): Promise<TimelineOutline> {
  return remember(source.run, `/timeline${query({ rank: source.rank, window: source.window })}`);
}

/** The segments of a memory snapshot with their blocks, and what each stack holds over time. */
export function memoryPicture(source: SourceKey): Promise<MemoryPicture> {
  // Addresses beyond 2^53 are texts; looking for long integers in so many blocks takes a while.
  const path = `/memory/picture${query({ rank: source.rank, window: source.window })}`;
  return remember(source.run, path, undefined, undefined, askNumbers);
}

export function span(source: SourceKey, spanId: number, signal: AbortSignal): Promise<SpanDetails> {
  const address = `${runAddress(source.run)}/spans/${source.rank}.${source.window}.${spanId}`;
  return askJson(address, signal, source.revision);
}

/** A part of a name in upper or lower case, or the events of one name and kind. */
export type SearchFor = { q: string } | { name: string; kind: string };

/** How many events match, in all and in each of `width` equal parts of the recording. */
export function search(
  { run, rank, window, revision }: SourceKey,
  wanted: SearchFor,
  width: number,
  signal: AbortSignal,
): Promise<Search> {
  return askNumbers(`${runAddress(run)}/search${query({ ...wanted, rank, window, width })}`, signal, revision);
}

/** The match after a time and event, or before; behind the last comes the first. */
export function searchStep(
  { run, rank, window, revision }: SourceKey,
  wanted: SearchFor,
  place: { from: number; span: number | undefined; by: number },
): Promise<SearchStep> {
  return askNumbers(`${runAddress(run)}/search/step${query({ ...wanted, rank, window, ...place })}`, undefined, revision);
}

/** Where matches lie in a range. */
export function searchMarks(
  { run, rank, window, revision }: SourceKey,
  wanted: SearchFor,
  range: { from: number; to: number; width: number },
  signal: AbortSignal,
): Promise<SearchMarks> {
  return askNumbers(`${runAddress(run)}/search/marks${query({ ...wanted, rank, window, ...range })}`, signal, revision);
}

/** Names of a recording that hold a text, by what they name. */
export function names({ run, rank, window, revision }: SourceKey, text: string, signal: AbortSignal): Promise<NameSearch> {
  return askNumbers(`${runAddress(run)}/names${query({ q: text, rank, window })}`, signal, revision);
}

/** The instance of a finding that takes most time. */
export function worstInstance(
  { run, rank, window, revision }: SourceKey,
  rule: string,
  from: number | undefined,
  to: number | undefined,
): Promise<WorstInstance> {
  const rounded = (time: number | undefined) => (time === undefined ? undefined : Math.round(time));
  return askNumbers(
    `${runAddress(run)}/findings/${rule}/worst${query({ rank, window, from: rounded(from), to: rounded(to) })}`,
    undefined,
    revision,
  );
}

/** The changes that a replay can make. */
export function changes(): Promise<Report> {
  return (knownChanges ??= askJson<Report>("api/changes").catch((error) => {
    knownChanges = undefined;
    throw error;
  }));
}
let knownChanges: Promise<Report> | undefined;

/** What changes save, each alone and all together; they are written as behind a question mark. */
export async function whatif(run: string, changes: string, parameters: Parameters, signal: AbortSignal): Promise<Report> {
  const { rank, window, step } = parameters;
  const asked = [query({ rank, window, step }).slice(1), changes].filter(Boolean).join("&");
  return withExactCells(await askJson<Report>(`${runAddress(run)}/whatif?${asked}`, signal, revisionOf(run)));
}

/** What a row of a critical path is about. */
export type PathRow = { class: string; name?: string } | { operator: string } | { kernel: string };

/** The longest piece of the path that a row is about. */
export function longestPiece(run: string, row: PathRow, { rank, window, step }: Parameters): Promise<WorstInstance> {
  // An empty name is one: time that belongs to none.
  const asked = Object.entries(row).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const address = `${runAddress(run)}/path/longest${query({ rank, window, step })}`;
  return askNumbers(`${address}${address.includes("?") ? "&" : "?"}${asked.join("&")}`, undefined, revisionOf(run));
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

/** The number of the critical path among the tracks of a recording. */
export const PATH_TRACK = -1;

export function laneAddress(source: SourceKey, track: number, from: number, to: number, width: number): string {
  const parameters = { rank: source.rank, window: source.window, from, to, width };
  const lane = track === PATH_TRACK ? "path" : `tracks/${track}`;
  return `${runAddress(source.run)}/timeline/${lane}${query(parameters)}`;
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
  return withWrittenCells(report);
}

/** What a column says in sentences is sorted, filtered and copied as text. What is for programs stays as it is. */
function withWrittenCells(report: Report): Report {
  for (const part of report.parts) {
    if (part.kind !== "table") continue;
    const places = part.columns.flatMap((column, place) => (column.look === "hidden" ? [] : [place]));
    for (const row of part.total === null ? part.rows : [...part.rows, part.total]) {
      for (const place of places) {
        const said = sentencesIn(row[place] ?? null);
        if (said.length > 0) row[place] = said.map(written).join("\n");
      }
    }
  }
  return report;
}

/** Each state of a run has answers of its own; those of states that are gone are the oldest, and forgotten first. */
function remember<T>(
  run: string,
  path: string,
  refine: (answer: T) => T = (answer) => answer,
  otherRevision?: number,
  ask: typeof askJson = askJson,
): Promise<T> {
  const revision = revisionOf(run);
  const key = JSON.stringify([run, revision, path, otherRevision]);
  const known = remembered.get(key);
  if (known) return known as Promise<T>;
  const answer = ask<T>(runAddress(run) + path, undefined, revision).then(refine);
  remembered.set(key, answer);
  answer.catch((error) => {
    if (isAborted(error) || remembered.get(key) === answer) remembered.delete(key);
  });
  const oldest = remembered.keys().next();
  if (remembered.size > REMEMBERED && !oldest.done) remembered.delete(oldest.value);
  return answer;
}
