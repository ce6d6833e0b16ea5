// Which runs there are, and which part of one is looked at.
import { createMemo, createRoot, createSignal } from "solid-js";
import { askJson, isAborted } from "../server/client";
import { forgetAnswers, outline, type Parameters, type SourceKey } from "../server/questions";
import type { Run, Session, Source, TimelineOutline } from "../server/types";
import { createAnswer } from "./answer";
import { choice, currentPage } from "./route";
import { addressOf, placesOf } from "./steps";

const READING_POLL_MS = 700;
const IDLE_POLL_MS = 5000;

const [session, setSession] = createSignal<Session>();
const [sessionError, setSessionError] = createSignal<unknown>();
export { session, sessionError };

/** Asks for the runs again and again: faster while one is being read. Tells about runs that are new. */
export function followSession(onNewRun: (run: string) => void): void {
  const known = new Set<string>();
  const look = async () => {
    let wait = IDLE_POLL_MS;
    try {
      const answer = await askJson<Session>("api/session");
      const ready = answer.runs.filter((run) => run.state === "ready");
      if (known.size > 0) for (const run of ready) if (!known.has(run.run)) onNewRun(run.run);
      for (const run of ready) known.add(run.run);
      const before = session();
      if (JSON.stringify(before, exactly) !== JSON.stringify(answer, exactly)) {
        if (before) forgetAnswers();
        setSession(answer);
      }
      setSessionError(undefined);
      if (answer.runs.some((run) => run.state === "reading")) wait = READING_POLL_MS;
    } catch (error) {
      if (!isAborted(error)) setSessionError(error);
    }
    setTimeout(look, wait);
  };
  void look();
}

const exactly = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);

/** The chosen run, else the first that can be looked at. */
export const run = (): Run | undefined => {
  const runs = session()?.runs ?? [];
  const chosen = choice("run");
  if (chosen !== undefined) return runs.find((run) => run.run === chosen);
  return runs.find((run) => run.state === "ready") ?? runs[0];
};

/** The two runs to compare: those of the address, else the chosen run and the next one. */
export const comparedRuns = (): [Run | undefined, Run | undefined] => {
  const ready = session()?.runs.filter((run) => run.state === "ready" && run.sources.length > 0) ?? [];
  const named = (name: string | undefined) => ready.find((run) => run.run === name);
  const a = named(choice("a")) ?? named(run()?.run) ?? ready[0];
  return [a, named(choice("b")) ?? ready.find((run) => run !== a)];
};

export const ranks = (): number[] => [...new Set(run()?.sources.map((source) => source.rank) ?? [])];
export const windows = (): number[] => {
  const rank = source()?.rank;
  return (
    run()
      ?.sources.filter((source) => source.rank === rank)
      .map((source) => source.window) ?? []
  );
};

/** Pages that show all ranks unless one is chosen. */
export const showsAllRanks = (): boolean => currentPage() === "distributed" || currentPage() === "communication";

/** The recording that is looked at. */
export const source = (): Source | undefined => {
  const sources = run()?.sources ?? [];
  const rank = Number(choice("rank") ?? sources[0]?.rank);
  const ofRank = sources.filter((source) => source.rank === rank);
  const window = choice("window");
  return ofRank.find((source) => window === undefined || source.window === Number(window)) ?? ofRank[0];
};

const followed = createRoot(() => {
  const key = createMemo(
    (): SourceKey | undefined => {
      const [name, found] = [run()?.run, source()];
      return name === undefined || !found ? undefined : { run: name, rank: found.rank, window: found.window };
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

/** The range that is chosen, in nanoseconds from the first step. */
export const chosenRange = (): { from: number; to: number } | undefined => {
  const [from, to] = [choice("from"), choice("to")];
  if (from === undefined || to === undefined) return undefined;
  const range = { from: Number(from), to: Number(to) };
  return Number.isFinite(range.from) && range.to > range.from ? range : undefined;
};

/** What an analysis is asked about, from the selectors. Undefined while it is not known. */
export const scope = (): Parameters | undefined => {
  const key = sourceKey();
  if (!key) return undefined;
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
  const match = /^(\d+)(?:-(\d+))?$/.exec(choice("steps") ?? "");
  return match ? placesOf(timelineOutline()?.steps ?? [], Number(match[1]), Number(match[2] ?? match[1])) : undefined;
};

/** What the address says for steps from one place to another. */
export const stepsAddress = (first: number, last: number): string =>
  addressOf(timelineOutline()?.steps ?? [], first, last);
