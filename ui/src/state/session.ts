// Which runs there are, and which part of one is looked at.
import { batch, createMemo, createRoot, createSignal } from "solid-js";
import { askJson, isAborted } from "../server/client";
import { outline, type Parameters, type SourceKey } from "../server/questions";
import { onOutdated, showRevisions } from "../server/revisions";
import type { PageEntry, Run, Session, Source, TimelineOutline } from "../server/types";
import { createAnswer } from "./answer";
import { inTime, likeliestPartner } from "./partner";
import { renewal, type Renewal } from "./renewed";
import { choice, choices, choose, currentPage, type Page } from "./route";
import { addressOf, placesOf } from "./steps";
import { rangeOf, stepNumbers, unknownChoices, type Unknown } from "./unknown";

const READING_POLL_MS = 700;
const IDLE_POLL_MS = 5000;

const [session, setSession] = createSignal<Session>();
const [sessionError, setSessionError] = createSignal<unknown>();
export { session, sessionError };

/** What a page hears about: a run that is new, and a new state of the run it shows. */
export type SessionNews = { newRun: (run: string) => void; renewed: (news: Renewal) => void };

/**
 * Asks for the runs again and again: faster while one is being read, and at once when an answer is from a state of its
 * run that is not known here.
 */
export function followSession(news: SessionNews): void {
  const known = new Set<string>();
  let timer = 0;
  let isLooking = false;
  const look = async () => {
    clearTimeout(timer);
    if (isLooking) return;
    isLooking = true;
    let wait = IDLE_POLL_MS;
    try {
      const answer = await askJson<Session>("api/session");
      const ready = answer.runs.filter((run) => run.state === "ready");
      if (known.size > 0) for (const run of ready) if (!known.has(run.run)) news.newRun(run.run);
      for (const run of ready) known.add(run.run);
      take(answer, news.renewed);
      if (answer.runs.some((run) => run.state === "reading" || run.progress !== null)) wait = READING_POLL_MS;
    } catch (error) {
      if (!isAborted(error)) setSessionError(error);
    }
    isLooking = false;
    timer = window.setTimeout(look, wait);
  };
  onOutdated(() => void look());
  void look();
}

/** Puts a session in place of the one before, in one go: from here on all answers are from it. */
function take(answer: Session, tell: (news: Renewal) => void): void {
  batch(() => {
    setSessionError(undefined);
    if (same(session(), answer)) return;
    const [before, looked] = [run(), source()];
    const after = answer.runs.find((run) => run.run === before?.run);
    showRevisions(answer.runs);
    setSession(answer);
    if (!before || before.revision === 0 || !after || after.revision === before.revision) return;
    const news = renewal(before, after, looked);
    // The same recording under another number: everything that was chosen in it still holds.
    if ("window" in news.stay) choose({ ...choices(), ...news.stay }, "replace");
    tell(news);
  });
}

const exactly = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);
const same = (a: unknown, b: unknown) => JSON.stringify(a, exactly) === JSON.stringify(b, exactly);

const chosen = createRoot(() => {
  /** A run that is read again is the same until its new state is there. */
  const run = createMemo(
    (): Run | undefined => {
      const runs = session()?.runs ?? [];
      const name = choice("run");
      if (name !== undefined) return runs.find((run) => run.run === name);
      return runs.find((run) => run.state === "ready") ?? runs[0];
    },
    undefined,
    { equals: (a, b) => a === b || same(withoutProgress(a), withoutProgress(b)) },
  );
  const ranks = createMemo(() => [...new Set(run()?.sources.map((source) => source.rank) ?? [])]);
  const pages = createMemo((): PageEntry[] => session()?.pages ?? [], [], { equals: same });
  return { run, ranks, pages };
});

function withoutProgress(run: Run | undefined): Partial<Run> {
  return { ...run, progress: run?.state === "reading" ? run.progress : null };
}

/** The chosen run, else the first that can be looked at. */
export const run = chosen.run;

/** The two runs to compare: those of the address, else the chosen run and its likeliest partner, the earlier first. */
export const comparedRuns = (): [Run | undefined, Run | undefined] => {
  const ready = session()?.runs.filter((run) => run.state === "ready" && run.sources.length > 0) ?? [];
  const named = (name: string | undefined) => ready.find((run) => run.run === name);
  const [a, b] = [choice("a"), choice("b")];
  const partnerOf = (run: Run | undefined) => run && likeliestPartner(run, ready);
  // A side that is named but not there stays empty: the page says so.
  if (a !== undefined) return [named(a), b === undefined ? partnerOf(named(a)) : named(b)];
  if (b !== undefined) return [partnerOf(named(b)), named(b)];
  const chosen = named(run()?.run) ?? ready[0];
  const partner = partnerOf(chosen);
  return chosen && partner ? inTime(chosen, partner) : [chosen, undefined];
};

export const ranks = chosen.ranks;

/** Pages that are an analysis, in the order of the rail. */
export const tablePages = chosen.pages;

/** The analysis that a page shows. */
export const tablePage = (page: Page): PageEntry | undefined =>
  tablePages().find((entry) => entry.page.address === page);

/** The windows of the chosen rank, also if the chosen window is not among them. */
export const windows = (): number[] => {
  const rank = rankOrFirst();
  return (
    run()
      ?.sources.filter((source) => source.rank === rank)
      .map((source) => source.window) ?? []
  );
};

/** Pages that show all ranks unless one is chosen. */
export const showsAllRanks = (): boolean =>
  currentPage() === "distributed" || tablePage(currentPage())?.page.shows_all_ranks === true;

const rankOrFirst = (): number => Number(choice("rank") ?? run()?.sources[0]?.rank);

/** The recording that is looked at; undefined if the address names one that is not there. */
export const source = (): Source | undefined => {
  const [rank, window] = [rankOrFirst(), choice("window")];
  return run()?.sources.find(
    (source) => source.rank === rank && (window === undefined || source.window === Number(window)),
  );
};

const followed = createRoot(() => {
  const key = createMemo(
    (): SourceKey | undefined => {
      const [of, found] = [run(), source()];
      return of && found && { run: of.run, rank: found.rank, window: found.window, revision: of.revision };
    },
    undefined,
    { equals: (a, b) => JSON.stringify(a) === JSON.stringify(b) },
  );
  const [outlineOfSource] = createAnswer(key, async (source) => ({ source, outline: await outline(source) }));
  return { key, outlineOfSource };
});

export const sourceKey = followed.key;

/** Steps, tracks and zero of the chosen recording. */
export const timelineOutline = (): TimelineOutline | undefined => {
  const known = followed.outlineOfSource.latest;
  return known?.source === followed.key() ? known?.outline : undefined;
};

/** Nanoseconds from the start of the first step, as pages count; the server counts from the first event. */
export function fromZero(outline: TimelineOutline, time: number): number {
  return time - outline.zero_ns;
}

/** What the address names that is not there. */
export const unknown = (): Unknown[] => {
  const named = { run: choice("run"), rank: choice("rank"), window: choice("window"), a: choice("a"), b: choice("b") };
  const asked = { ...named, steps: choice("steps"), from: choice("from"), to: choice("to") };
  const open = { runs: session()?.runs ?? [], run: run(), outline: timelineOutline() };
  return session() ? unknownChoices(currentPage(), asked, open) : [];
};

/** The range that is chosen, in nanoseconds from the first step. */
export const chosenRange = (): { from: number; to: number } | undefined =>
  rangeOf({ from: choice("from"), to: choice("to") });

/** What an analysis is asked about, from the selectors. Undefined while it is not known, or not there. */
export const scope = (): Parameters | undefined => {
  const key = sourceKey();
  const isNarrowed = [choice("steps"), choice("from"), choice("to")].some((each) => each !== undefined);
  // Whether steps and times are there is known with the outline.
  if (!key || (isNarrowed && !timelineOutline()) || unknown().length > 0) return undefined;
  const isAll = showsAllRanks() && choice("rank") === undefined;
  const parameters: Parameters = isAll ? {} : { rank: key.rank, window: key.window };
  if (choice("steps")) parameters.step = choice("steps");
  const range = chosenRange();
  if (range) {
    const outline = timelineOutline();
    if (!outline) return undefined;
    parameters.from = Math.max(0, Math.round(range.from + outline.zero_ns));
    parameters.to = Math.max(0, Math.round(range.to + outline.zero_ns));
  }
  return parameters;
};

/** The steps that are chosen, as places in the recording; the address has their numbers. */
export const chosenSteps = (): { first: number; last: number } | undefined => {
  const asked = stepNumbers(choice("steps"));
  return asked && placesOf(timelineOutline()?.steps ?? [], asked.first, asked.last);
};

/** What the address says for steps from one place to another. */
export const stepsAddress = (first: number, last: number): string =>
  addressOf(timelineOutline()?.steps ?? [], first, last);
