// A selected event is seen, even if its track was folded away or has more lanes than are shown.
import type { Track } from "../server/types";
import { hasLane, type Row, type TrackRow } from "./rows";

/** Opens every fold over a lane: a group, a track of it, and the lanes of that may each be folded. */
export function unfold(
  rows: () => Row[],
  track: Track | undefined,
  depth: number,
  toggle: (fold: string) => void,
): void {
  if (!track) return;
  for (let deep = 0; deep < 3; deep++) {
    const fold = foldOver(rows(), track, depth);
    if (fold === undefined) return;
    toggle(fold);
  }
}

/** The fold that hides a lane of a track; undefined if none does. */
export function foldOver(rows: Row[], track: Track, depth: number): string | undefined {
  const row = rows.find((row): row is TrackRow => row.kind === "track" && row.track.track === track.track);
  if (row) return hasLane(row, depth) ? undefined : row.isFolded ? String(track.track) : `+${track.track}`;
  const own = track.kind === "stream" ? `d:${track.device ?? 0}` : `h:${track.process}`;
  const folded = rows.flatMap((row) => (row.kind === "group" && row.isFolded ? [row.key] : []));
  return [own, "bookkeeping"].find((key) => folded.includes(key));
}
