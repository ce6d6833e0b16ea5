// Which state of each run the page shows. Every answer says which one it is from; one from another state is not shown,
// so that figures of two states never stand beside each other.
import type { Run } from "./types";

const shown = new Map<string, number>();
let hear: () => void = () => undefined;

/** The revision that answers about a run must have. */
export const revisionOf = (run: string): number | undefined => shown.get(run);

/** Takes the revisions of a session; from here on only their answers count. */
export function showRevisions(runs: Pick<Run, "run" | "revision">[]): void {
  shown.clear();
  for (const { run, revision } of runs) shown.set(run, revision);
}

/** Calls when an answer is from a state that the page has not heard of. */
export function onOutdated(listener: () => void): void {
  hear = listener;
}

export function tellOutdated(): void {
  hear();
}
