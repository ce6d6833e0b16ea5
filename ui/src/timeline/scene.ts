// From events to rectangles: exact spans fill their lane, buckets stand on its floor.
import type { LaneStore } from "./lane_store";
import { busyShares, type Lanes } from "./lanes";
import { BUCKET, OUTLINE, type Palette } from "./palette";
import { Rectangles } from "./painter";
import { laneTop, type Row, type TrackRow } from "./rows";
import { lengthOf, type Range } from "./view";

/** A bucket says "many": it never looks like one long span. */
const BUCKET_ALPHA = 0.78;
const LEAST_BUCKET_HEIGHT = 0.22;
const LANE_GAP_PX = 1;

export type ColorBy = "class" | "name";

/** Times in the rectangles are from `origin`, so that 32 bits are enough near the view. */
export type Scene = { rectangles: Rectangles; origin: number };

export function buildScene(rows: Row[], store: LaneStore, palette: Palette, colorBy: ColorBy, view: Range, previous?: Scene): Scene {
  const rectangles = previous?.rectangles ?? new Rectangles();
  rectangles.size = 0;
  const origin = (view.from + view.to) / 2;
  for (const row of rows) {
    if (row.kind !== "track") continue;
    const { whole, current } = store.lanes(row.track.track);
    if (current) addLanes(rectangles, row, current, palette, colorBy, origin, undefined);
    // Around what is known finely, the coarse picture of the whole recording stays.
    if (whole && whole !== current) addLanes(rectangles, row, whole, palette, colorBy, origin, current);
  }
  return { rectangles, origin };
}

function addLanes(into: Rectangles, row: TrackRow, lanes: Lanes, palette: Palette, colorBy: ColorBy, origin: number, except: Range | undefined): void {
  // What reaches far out is cut where nobody looks, so that its ends do not lose their place.
  const reach = { from: lanes.from - lengthOf(lanes), to: lanes.to + lengthOf(lanes) };
  const height = row.lane - LANE_GAP_PX;
  for (let i = 0; i < lanes.size; i++) {
    const depth = lanes.depth[i]!;
    if (depth >= row.lanes) continue;
    let [start, end] = [lanes.start[i]!, lanes.start[i]! + lanes.dur[i]!];
    if (except) {
      if (start >= except.from && end <= except.to) continue;
      if (start < except.from) end = Math.min(end, except.from);
      else start = Math.max(start, except.to);
      if (end < start) continue;
    }
    start = Math.max(start, reach.from) - origin;
    end = Math.min(end, reach.to) - origin;
    const name = lanes.classes[i]!;
    const paint = colorBy === "class" ? palette.of(name) : palette.ofName(name, lanes.names[i]!);
    const top = laneTop(row, depth);
    if (lanes.count[i]! > 1) {
      const share = Math.max(LEAST_BUCKET_HEIGHT, Math.min(1, lanes.busy[i]! / Math.max(1, lanes.dur[i]!)));
      const tall = Math.max(2, Math.round(height * share));
      into.add(start, end, top + height - tall, tall, paint.color, BUCKET_ALPHA, paint.mode === OUTLINE ? OUTLINE : BUCKET);
    } else {
      into.add(start, end, top, height, paint.color, 1, paint.mode);
    }
  }
}

/** Share of time that a device is busy, in bins of two pixels across the view. */
export function deviceBusy(tracks: number[], store: LaneStore, view: Range, bins: number): Float64Array {
  const sum = new Float64Array(bins);
  for (const track of tracks) {
    const { whole, current } = store.lanes(track);
    const covers = current && current.from <= view.from && current.to >= view.to;
    const lanes = covers ? current : (whole ?? current);
    if (!lanes) continue;
    const shares = busyShares(lanes, view.from, view.to, bins, (name) => name !== "annotation");
    for (let at = 0; at < bins; at++) sum[at] = Math.min(1, sum[at]! + shares[at]!);
  }
  return sum;
}
