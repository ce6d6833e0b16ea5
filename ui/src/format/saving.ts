// What a change saves per step, in words: a range, and in which direction it may be off.
import type { Sentence } from "../server/types";
import { said, say } from "./say";

/** A saving per step with the least and most that it may be, in nanoseconds. */
export type PredictedSaving = { saving: number; low: number; high: number; bound: string; confidence: string };

/** What a saving is worth, before its figure: an estimate is about right. */
export function boundWords(bound: string): string {
  return bound === "estimate" ? "about" : bound.replaceAll("_", " ");
}

export function savingSentence({ saving, low, high, bound, confidence }: PredictedSaving): Sentence {
  const time = (ns: number) => said("ns", Math.round(ns));
  return say`Saves ${boundWords(bound)} ${time(saving)} per step: ${time(low)} to ${time(high)}, confidence ${confidence}.`;
}
