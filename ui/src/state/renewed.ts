// What changes for somebody who looks at a run when a new state of its traces arrives.
import type { Run, Source } from "../server/types";
import type { Choices } from "./route";
import { numbersInWords } from "./unknown";

export type Renewal = {
  /** What happened. */
  text: string;
  /** The choices that keep the recording that was looked at, which may have another number now. */
  stay: Choices;
  /** The choices that show what is new. */
  open: Choices | undefined;
};

/** The same recording in another state of its run: windows are numbered by time, and an older one may arrive later. */
function sameIn(sources: Source[], wanted: Source | undefined): Source | undefined {
  return sources.find(
    (source) =>
      source.rank === wanted?.rank &&
      source.first_ns === wanted.first_ns &&
      source.last_ns === wanted.last_ns &&
      source.events === wanted.events,
  );
}

export function renewal(before: Run, after: Run, looked: Source | undefined): Renewal {
  const kept = sameIn(after.sources, looked);
  const added = after.sources.filter((source) => !sameIn(before.sources, source));
  // An address without a window means the first of a rank.
  const first = after.sources.find((source) => source.rank === kept?.rank);
  const isMoved = kept !== undefined && kept.window !== looked?.window;
  const window = kept === undefined || kept === first ? undefined : String(kept.window);
  return {
    text: newsOf(after.run, before, added, kept),
    stay: isMoved ? { window } : {},
    open: kept && added[0] ? { rank: String(added[0].rank), window: String(added[0].window) } : undefined,
  };
}

function newsOf(run: string, before: Run, added: Source[], kept: Source | undefined): string {
  const known = new Set(before.sources.map((source) => source.rank));
  const ranks = [...new Set(added.map((source) => source.rank))];
  if (!kept || added.length === 0) return `The traces of ${run} have changed. This page shows the new ones.`;
  if (ranks.every((rank) => !known.has(rank)))
    return `${run} has ${ranks.length === 1 ? "a new rank" : "new ranks"}: ${numbersInWords(ranks)}`;
  return `${run} has ${added.length === 1 ? "a new window" : `${added.length} new windows`}`;
}
