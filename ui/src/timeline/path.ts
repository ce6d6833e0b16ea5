// The critical path on the timeline: a lane of its own above the others, and marks on the spans that it goes through.
import type { Track } from "../server/types";
import { PATH_TRACK } from "../server/questions";
import type { LaneStore } from "./lane_store";
import type { Row } from "./rows";
import type { Range } from "./view";

/** What the address says while the path is shown. */
export const PATH_SHOWN = "on";

/** The path as a track: it has one lane, whose pieces lie side by side. */
export const pathTrack: Track = {
  track: PATH_TRACK,
  kind: "path",
  process: "",
  name: "Critical path",
  device: null,
  stream: null,
  spans: 1,
  depth: 1,
  first_ns: null,
  last_ns: null,
};

/** A part of a lane that the path goes through. */
export type PathMark = { track: number; depth: number; from: number; to: number };

/** More than a screen has pixels. */
const MOST_MARKS = 4000;

/** Where the pieces on screen lie on the tracks that are shown; what is in buckets is too short to be seen. */
export function pathMarks(store: Pick<LaneStore, "lanes">, rows: Row[], view: Range): PathMark[] {
  const pieces = store.lanes(PATH_TRACK).current;
  if (!pieces) return [];
  const { start, dur, count, spanId } = pieces;
  const wanted = new Map<number, { from: number; to: number }[]>();
  for (let i = 0, found = 0; i < pieces.size && found < MOST_MARKS; i++) {
    const piece = { from: start[i]!, to: start[i]! + dur[i]! };
    if (count[i] !== 1 || piece.from > view.to || piece.to < view.from) continue;
    wanted.set(spanId[i]!, [...(wanted.get(spanId[i]!) ?? []), piece]);
    found += 1;
  }
  const marks: PathMark[] = [];
  for (const row of rows) {
    const lanes = row.kind === "track" && row.track.track !== PATH_TRACK ? store.lanes(row.track.track).current : undefined;
    if (!lanes || row.kind !== "track") continue;
    for (let i = 0; i < lanes.size; i++) {
      if (lanes.count[i] !== 1) continue;
      for (const piece of wanted.get(lanes.spanId[i]!) ?? [])
        marks.push(...onSpan(piece, row.track.track, lanes.depth[i]!, lanes.start[i]!, lanes.start[i]! + lanes.dur[i]!));
    }
  }
  return marks;
}

/** The part of a piece that lies on its span. A delay leads to its span and lies before it: it marks nothing. */
function onSpan(piece: Range, track: number, depth: number, start: number, end: number): PathMark[] {
  const [from, to] = [Math.max(piece.from, start), Math.min(piece.to, end)];
  return to > from ? [{ track, depth, from, to }] : [];
}
