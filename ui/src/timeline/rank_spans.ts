// Spans of several ranks on one board: where their lanes come from, which belong together, and what is said of them.
import { exactTime } from "../format/number";
import type { SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import type { Choices } from "../state/route";
import { fromZero } from "../state/session";
import type { SeveralRanks } from "./ask_ranks";
import type { Home, LaneStore } from "./lane_store";
import type { Spot } from "./overlay";
import { parsePeerTrack, type Instance } from "./ranks";
import { laneOf } from "./state";
import { writeView, type Range } from "./view";

export function rankSpans(source: SourceKey, outline: TimelineOutline, several: SeveralRanks | undefined) {
  const bounds = { from: fromZero(outline, outline.start_ns), to: fromZero(outline, outline.end_ns) };
  const rankOf = (track: number) => parsePeerTrack(track)?.rank ?? source.rank;
  const peerOf = (track: number) => parsePeerTrack(track) && several?.ranks.find((rank) => rank.rank === rankOf(track));
  const instanceAt = (track: number, spanId: number) => several?.collectives.at(rankOf(track), spanId);

  function spotsOf(instance: Instance, store: LaneStore): Spot[] {
    const rank = several?.ranks.find((rank) => rank.rank === instance.rank);
    if (!rank) return [];
    const [start, { spanId, durNs: dur }] = [Number(instance.startNs - rank.base) - rank.zero, instance];
    return rank.tracks.flatMap(({ track }) => {
      const depth = laneOf(store, track, spanId, start);
      return depth === undefined ? [] : [{ track, depth, start, dur, spanId }];
    });
  }

  return {
    homeOf(track: number): Home {
      const peer = peerOf(track);
      if (!peer) return { source, track, zero: outline.zero_ns, bounds };
      return { source: peer.source, track: parsePeerTrack(track)!.track, zero: peer.zero, bounds: peer.bounds };
    },

    /** How long a collective waits for other ranks; undefined if nothing is known of any. */
    waitOf:
      several && several.collectives.size > 0
        ? (track: number, spanId: number): number => {
            const instance = instanceAt(track, spanId);
            return instance ? instance.durNs - instance.transferNs : 0;
          }
        : undefined,

    /** The same collective on all ranks as the first of some spans that is one. */
    sameAs(spots: (Spot | undefined)[], store: LaneStore): Spot[] {
      for (const spot of spots) {
        const instance = spot && instanceAt(spot.track, spot.spanId);
        if (several && instance) return several.collectives.sameAs(instance).flatMap((same) => spotsOf(same, store));
      }
      return [];
    },

    /** Lines below what is said of a span. */
    linesOf(track: number, spanId: number): string[] {
      if (!several) return [];
      const instance = instanceAt(track, spanId);
      if (!instance) return [`rank ${rankOf(track)}`];
      const waits = exactTime(instance.durNs - instance.transferNs);
      return [`rank ${instance.rank}`, `waits ${waits}, transfers ${exactTime(instance.transferNs)}`];
    },

    /** What the address says when a span is selected. One of another rank makes that the chosen rank; what is on screen stays where it is. */
    selecting(track: number, spanId: number, view: Range): Choices {
      const peer = peerOf(track);
      const chosen = { sel: String(spanId), from: undefined, to: undefined };
      if (!peer) return chosen;
      const moved = peer.zero - peer.outline.zero_ns;
      return { ...chosen, rank: String(peer.rank), view: writeView({ from: view.from + moved, to: view.to + moved }) };
    },
  };
}
