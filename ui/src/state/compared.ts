// Which part of two runs is compared: a rank and a window that both have.
import type { Run, Source } from "../server/types";

/** A rank and a window; the server takes the first of what is not said. */
export type Compared = { rank?: number; window?: number };

/** The rank and window of the address if both runs have them, else the first of each. */
export function comparedPart(a: Run, b: Run, asked: { rank?: string; window?: string }): Compared {
  const isInBoth = (part: Compared) => [a, b].every((run) => recordingOf(run, part) !== undefined);
  const named = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  const both = { rank: named(asked.rank), window: named(asked.window) };
  if (isInBoth(both)) return both;
  return isInBoth({ rank: both.rank }) ? { rank: both.rank } : {};
}

/** The recording of a run that the server takes. */
export function recordingOf(run: Run, part: Compared): Source | undefined {
  const isAsked = (of: number, asked: number | undefined) => asked === undefined || of === asked;
  return run.sources.find((source) => isAsked(source.rank, part.rank) && isAsked(source.window, part.window));
}

/** The ranks that both runs have, and the windows that a rank has in both. */
export function commonParts(a: Run, b: Run, rank: number | undefined): { ranks: number[]; windows: number[] } {
  const both = (of: (run: Run) => number[]) => {
    const inB = new Set(of(b));
    return [...new Set(of(a))].filter((value) => inB.has(value));
  };
  return {
    ranks: both((run) => run.sources.map((source) => source.rank)),
    windows: both((run) => run.sources.filter((source) => source.rank === rank).map((source) => source.window)),
  };
}
