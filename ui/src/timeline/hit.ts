// The event under the pointer.
import type { LaneStore } from "./lane_store";
import { entryAt, type Lanes } from "./lanes";
import { laneAt, type TrackRow } from "./rows";

export type Hit = { lanes: Lanes; entry: number; track: number };

/** The entry of a row at a height and a time, or close beside: what is known in detail first, then the whole recording. */
export function entryUnder(row: TrackRow, y: number, store: LaneStore, time: number, slackNs: number): Hit | undefined {
  const depth = laneAt(row, y);
  if (depth < 0) return undefined;
  const { current, whole } = store.lanes(row.track.track);
  for (const lanes of [current, whole]) {
    const entry = lanes ? entryAt(lanes, depth, time, slackNs) : -1;
    if (lanes && entry >= 0) return { lanes, entry, track: row.track.track };
  }
  return undefined;
}
