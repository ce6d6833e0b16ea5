// Several ranks on one axis: which of them, how their clocks are brought together, and which collectives belong together.
import type { TimelineOutline, Track } from "../server/types";

/** More ranks than these are not seen side by side: then the ones at both ends are shown. */
export const MOST_RANKS = 16;
const AT_EACH_END = 4;

/**
 * The ranks that an address asks for: `all`, or numbers between commas. The own rank is always among them; undefined
 * if there is no other. Of too many, those that make others wait most and least are taken.
 */
export function chosenRanks(
  text: string | undefined,
  all: number[],
  own: number,
  byWaitingCaused: number[],
): number[] | undefined {
  const named = (text ?? "").split(",").filter((part) => /^\d+$/.test(part)).map(Number);
  const asked = text === "all" ? all : all.filter((rank) => named.includes(rank));
  const others = asked.filter((rank) => rank !== own);
  if (others.length === 0) return undefined;
  if (others.length < MOST_RANKS) return [...others, own].sort((a, b) => a - b);
  const inOrder = byWaitingCaused.filter((rank) => others.includes(rank));
  inOrder.push(...others.filter((rank) => !inOrder.includes(rank)));
  return [...new Set([own, ...inOrder.slice(0, AT_EACH_END), ...inOrder.slice(-AT_EACH_END)])].sort((a, b) => a - b);
}

/** Tracks are numbered in each recording; those of other ranks have numbers far above. */
const NUMBERS = 2 ** 20;

export function peerTrack(rank: number, track: number): number {
  return (rank + 1) * NUMBERS + track;
}

/** The rank and the number there of a track of another rank. */
export function parsePeerTrack(number: number): { rank: number; track: number } | undefined {
  return number < NUMBERS ? undefined : { rank: Math.floor(number / NUMBERS) - 1, track: number % NUMBERS };
}

/** Streams with fewer spans than this share of the busiest are left out where there are many. */
const QUIET_SHARE = 0.01;
const MANY_STREAMS = 4;

/** What is shown of a rank: its streams, or where there are none its busiest thread. */
export function deviceTracks(outline: TimelineOutline): Track[] {
  const bySpans = [...outline.tracks].sort((a, b) => b.spans - a.spans);
  const streams = bySpans.filter((track) => track.kind === "stream" && track.spans > 0);
  if (streams.length === 0) return bySpans.filter((track) => track.kind === "thread").slice(0, 1);
  const least = streams.length > MANY_STREAMS ? streams[0]!.spans * QUIET_SHARE : 0;
  return streams.filter((track) => track.spans >= least).sort((a, b) => (a.device ?? 0) - (b.device ?? 0));
}

/** A collective of one rank that all ranks of its group have; the time is that of the rank's own clock. */
export type Instance = { rank: number; spanId: number; key: string; startNs: bigint; durNs: number; transferNs: number };

export class Collectives {
  private readonly byKey = new Map<string, Instance[]>();
  private readonly bySpan = new Map<string, Instance>();

  constructor(instances: Instance[]) {
    for (const instance of instances) {
      const same = this.byKey.get(instance.key);
      if (same) same.push(instance);
      else this.byKey.set(instance.key, [instance]);
      this.bySpan.set(`${instance.rank}.${instance.spanId}`, instance);
    }
  }

  get size(): number {
    return this.bySpan.size;
  }

  at(rank: number, spanId: number): Instance | undefined {
    return this.bySpan.get(`${rank}.${spanId}`);
  }

  /** The same collective on all ranks. */
  sameAs(instance: Instance): Instance[] {
    return this.byKey.get(instance.key) ?? [];
  }

  /** How much later the collectives of a rank end than those of another by their clocks, in the middle of all. */
  medianApart(rank: number, than: number): number | undefined {
    const apart: number[] = [];
    for (const same of this.byKey.values()) {
      const [one, other] = [same.find((each) => each.rank === rank), same.find((each) => each.rank === than)];
      if (one && other) apart.push(Number(one.startNs - other.startNs) + one.durNs - other.durNs);
    }
    return apart.sort((a, b) => a - b)[Math.ceil(apart.length / 2) - 1];
  }
}

/** Offsets that are farther from what collectives show come from another group with a clock of its own. */
const DOUBTFUL_NS = 1e6;

/**
 * How far the clock of a rank is ahead of the own: the difference of what `comms` says, if the two have collectives in
 * common. Its offsets count from the first rank of a group, which is not always the same one.
 */
export function clockAhead(
  offsets: ReadonlyMap<number, number>,
  collectives: Collectives,
  rank: number,
  own: number,
): number | undefined {
  if (rank === own) return 0;
  const seen = collectives.medianApart(rank, own);
  const [ofRank, ofOwn] = [offsets.get(rank), offsets.get(own)];
  if (seen === undefined || ofRank === undefined || ofOwn === undefined) return seen;
  return Math.abs(ofRank - ofOwn - seen) > DOUBTFUL_NS ? seen : ofRank - ofOwn;
}
