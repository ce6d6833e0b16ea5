// Which run to compare a run with: the same script on the same devices, just before it.
import type { Run } from "../server/types";

type Known = Pick<Run, "run" | "sources">;

/** A name without what changes from run to run: folders, numbers, dates and hashes. */
export function nameStem(name: string): string {
  const last = name.split("/").at(-1) ?? name;
  return last
    .toLowerCase()
    .replaceAll(/[0-9a-f]{7,}/g, "")
    .replaceAll(/\d+/g, "")
    .replaceAll(/[^a-z]+/g, " ")
    .trim();
}

/** The start of a run by its clock; undefined if no recording says so. */
function startOf(run: Known): bigint | undefined {
  const starts = run.sources.flatMap((source) => (source.first_ns === null ? [] : [BigInt(source.first_ns)]));
  return starts.reduce((first: bigint | undefined, at) => (first === undefined || at < first ? at : first), undefined);
}

function worldSize(run: Known): number {
  return new Set(run.sources.map((source) => source.rank)).size;
}

function devices(run: Known): string {
  return JSON.stringify(run.sources[0]?.devices ?? []);
}

/** How much two runs are alike; a name says more than devices, and they say more than the number of ranks. */
function likeness(a: Known, b: Known): number {
  const isSame = (of: (run: Known) => unknown) => (of(a) === of(b) ? 1 : 0);
  return 4 * isSame((run) => nameStem(run.run)) + 2 * isSame(devices) + isSame(worldSize);
}

/** The run that is most alike; of several the latest before this one, else the first after it. */
export function likeliestPartner<R extends Known>(run: R, runs: R[]): R | undefined {
  const start = startOf(run);
  const distance = (other: R): [number, number] => {
    const at = startOf(other);
    if (start === undefined || at === undefined) return [2, 0];
    return at <= start ? [0, Number(start - at)] : [1, Number(at - start)];
  };
  const others = runs.filter((other) => other.run !== run.run);
  return others.toSorted((a, b) => {
    const [x, y] = [distance(a), distance(b)];
    return likeness(run, b) - likeness(run, a) || x[0] - y[0] || x[1] - y[1];
  })[0];
}

/** Two runs in the order of time, so that a comparison reads from before to after; as given if that is not known. */
export function inTime<R extends Known>(a: R, b: R): [R, R] {
  const [first, second] = [startOf(a), startOf(b)];
  return first !== undefined && second !== undefined && second < first ? [b, a] : [a, b];
}
