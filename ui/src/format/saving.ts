// What a change saves per step, in words: a range, and in which direction it may be off.
import type { Sentence } from "../server/types";
import { said, say, written } from "./say";

/** A saving per step with the least and most that it may be, in nanoseconds. */
export type PredictedSaving = { saving: number; low: number; high: number; bound: string; confidence: string };

/** Bounds that say in which direction a saving is off; others are about right. */
const ONE_SIDED = ["at most", "at least"];
/** Changes that nobody can make. */
const ORIENTATION = "for orientation";

export function savingSentence({ saving, low, high, bound, confidence }: PredictedSaving): Sentence {
  const time = (ns: number) => said("ns", Math.round(ns));
  const about = ONE_SIDED.includes(bound) ? bound : "about";
  const only = bound === ORIENTATION ? `, ${ORIENTATION} only` : "";
  const isOneFigure = written(time(low)) === written(time(high));
  const range = isOneFigure ? [] : say`: ${time(low)} to ${time(high)}`;
  return say`Saves ${about} ${time(saving)} per step${range}, confidence ${confidence}${only}.`;
}
