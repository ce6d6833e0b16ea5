// From events to rectangles: spans that can be seen fill their lane; what is too narrow goes into columns that stand on
// the floor of the lane, as high as they are busy, so that density reads as a skyline and never as one long span.
import { Areas, type Stairs } from "./areas";
import type { Curves } from "./ask_curves";
import { finestParts } from "./curves";
import type { LaneStore } from "./lane_store";
import { busyShares, classAt, depthRange, firstSeen, LANE_CLASSES, lowest, nameAt, type Lanes } from "./lanes";
import { BUCKET, type Paint, type Palette } from "./palette";
import { Rectangles } from "./painter";
import { laneTop, type Row, type TrackRow } from "./rows";
import { isOverflow } from "./sub_lanes";
import { lengthOf, type Range } from "./view";

const EXACT_FROM_PX = 3;
const COLUMN_PX = 2;
const BUCKET_ALPHA = 0.78;
const LEAST_BUCKET_HEIGHT = 0.22;
const LANE_GAP_PX = 1;
/** A picture serves views that are this much longer or shorter; they stretch it. */
const STRETCH = 1.25;
/** More than is seen, on each side and above and below, as shares of the screen: enough for a few moves. */
const MORE_TIME = 0.25;
const MORE_ROWS = 0.15;
const BUSY_PX = 3;
const COMMUNICATION = LANE_CLASSES.indexOf("communication");

export type ColorBy = "class" | "name";

/** What a picture is about: a stretch of time on so many pixels, and a part of the rows. */
export type Frame = { view: Range; width: number; scroll: number; height: number };

export type Scene = {
  rectangles: Rectangles;
  /** Times in the rectangles count from here, so that 32 bits are enough near the view. */
  origin: number;
  range: Range;
  pixelNs: number;
  /** Pixels of the rows. */
  top: number;
  bottom: number;
};

/** Whether a picture can be moved and stretched to show a view. */
export function canShow(scene: Scene, { view, width, scroll, height }: Frame): boolean {
  const stretch = lengthOf(view) / width / scene.pixelNs;
  const holds = scene.range.from <= view.from && scene.range.to >= view.to;
  const holdsRows = scene.top <= scroll && scene.bottom >= scroll + height;
  return holds && holdsRows && stretch <= STRETCH && stretch >= 1 / STRETCH;
}

/** How long a span of a track waits for other ranks before it transfers; 0 if it does not, or that is not known. */
export type WaitOf = (track: number, spanId: number) => number;

export function buildScene(
  rows: Row[],
  store: LaneStore,
  curves: Curves,
  palette: Palette,
  colorBy: ColorBy,
  { view, width, scroll, height }: Frame,
  waitOf: WaitOf | undefined,
  previous?: Scene,
): Scene {
  const rectangles = previous?.rectangles ?? new Rectangles();
  rectangles.size = 0;
  const more = MORE_TIME * lengthOf(view);
  const scene = {
    rectangles,
    origin: (view.from + view.to) / 2,
    range: { from: view.from - more, to: view.to + more },
    pixelNs: lengthOf(view) / width,
    top: scroll - MORE_ROWS * height,
    bottom: scroll + (1 + MORE_ROWS) * height,
  };
  const paints = LANE_CLASSES.map((name) => palette.of(name));
  const columns = new Columns(scene, paints);
  const waits = waitOf && { of: waitOf, paints: palette.waiting };
  const areas = new Areas(rectangles, scene.origin, scene.pixelNs, palette);
  const paintOf = (lanes: Lanes, entry: number): Paint =>
    colorBy === "class"
      ? paints[lanes.classOf[entry]!]!
      : palette.ofName(classAt(lanes, entry), nameAt(lanes, entry));
  for (const row of rows) {
    if (row.y + row.height < scene.top || row.y > scene.bottom) continue;
    if (row.kind === "busy") {
      const tracks = row.tracks.map((track) => track.track);
      areas.add(deviceBusy(tracks, store, scene.range, BUSY_PX * scene.pixelNs), scene.range, row);
    }
    if (row.kind === "curve") {
      const fine = curves.fine(row.curve.key);
      for (const { curve, range } of finestParts(row.curve, fine, scene.range)) areas.add(curve, range, row);
    }
    if (row.kind !== "track") continue;
    const { whole, current } = store.lanes(row.track.track);
    for (const depth of row.lanes) {
      if (current) addLane(scene, columns, row, current, depth, paintOf, waits, undefined);
      // Around what is known finely, the coarse picture of the whole recording stays.
      if (whole && whole !== current && !covers(current, scene.range)) addLane(scene, columns, row, whole, depth, paintOf, waits, current);
      columns.flush(row, depth);
    }
  }
  return scene;
}

function covers(known: Range | undefined, range: Range): boolean {
  return known !== undefined && known.from <= range.from && known.to >= range.to;
}

function addLane(
  scene: Scene,
  columns: Columns,
  row: TrackRow,
  lanes: Lanes,
  depth: number,
  paintOf: (lanes: Lanes, entry: number) => Paint,
  waits: { of: WaitOf; paints: [Paint, Paint] } | undefined,
  except: Range | undefined,
): void {
  const { range, origin, pixelNs, rectangles } = scene;
  const { start: starts, dur: lengths, count: counts, busy, classOf, spanId } = lanes;
  const [first, end] = depthRange(lanes, depth);
  const [top, height] = [laneTop(row, depth), row.lane - LANE_GAP_PX];
  const isShared = isOverflow(depth);
  const add = (from: number, to: number, paint: Paint) =>
    // What reaches far out is cut where nobody looks, so that its ends do not lose their place.
    rectangles.add(
      Math.max(from, range.from - lengthOf(range)) - origin,
      Math.min(to, range.to + lengthOf(range)) - origin,
      top,
      height,
      paint.color,
      1,
      paint.mode,
    );
  const last = first + lowest(end - first, (i) => starts[first + i]! > range.to);
  for (let i = firstSeen(lanes, first, last, range.from); i < last; i++) {
    const length = lengths[i]!;
    let start = starts[i]!;
    let stop = start + length;
    if (stop < range.from) continue;
    if (except) {
      if (start >= except.from && stop <= except.to) continue;
      if (start < except.from) stop = Math.min(stop, except.from);
      else start = Math.max(start, except.to);
      if (stop < start) continue;
    }
    const many = counts[i]!;
    if (many === 1 && length >= EXACT_FROM_PX * pixelNs && !isShared) {
      // The ranks of a collective end together, so waiting comes first.
      const transfer = starts[i]! + (waits && classOf[i] === COMMUNICATION ? waits.of(row.track.track, spanId[i]!) : 0);
      if (waits && transfer - start >= pixelNs) {
        for (const paint of waits.paints) add(start, Math.min(stop, transfer), paint);
        start = Math.min(stop, transfer);
      }
      if (stop > start || length === 0) add(start, stop, paintOf(lanes, i));
    } else {
      columns.add(
        start,
        stop,
        many === 1 ? 1 : Math.min(1, busy[i]! / Math.max(1, length)),
        many,
        classOf[i]!,
      );
    }
  }
}

/** Sums of what is too narrow to be drawn alone: one column is two pixels. */
class Columns {
  private readonly size: number;
  private readonly columnNs: number;
  private readonly busy: Float64Array;
  private readonly byClass: Float64Array;
  private readonly count: Uint32Array;
  private readonly isUsed: Uint8Array;
  private readonly alone: Float64Array;
  private firstUsed = Infinity;
  private lastUsed = -1;
  /** Classes of the lane: few of all. */
  private classes: number[] = [];
  private lastClass = -1;

  constructor(
    private readonly scene: Scene,
    private readonly paints: Paint[],
  ) {
    this.columnNs = COLUMN_PX * scene.pixelNs;
    this.size = Math.ceil(lengthOf(scene.range) / this.columnNs) + 1;
    this.busy = new Float64Array(this.size);
    this.byClass = new Float64Array(this.size * LANE_CLASSES.length);
    this.count = new Uint32Array(this.size);
    this.isUsed = new Uint8Array(this.size);
    this.alone = new Float64Array(this.size * 2);
  }

  add(start: number, end: number, density: number, count: number, classPlace: number): void {
    const { columnNs } = this;
    const from = this.scene.range.from;
    const first = Math.max(0, Math.floor((start - from) / columnNs));
    const last = Math.min(this.size - 1, Math.floor((end - from) / columnNs));
    if (last < 0 || first >= this.size) return;
    if (classPlace !== this.lastClass && !this.classes.includes(classPlace)) this.classes.push(classPlace);
    this.lastClass = classPlace;
    this.count[first]! += count;
    for (let at = first; at <= last; at++) {
      const left = Math.max(start, from + at * columnNs);
      const right = Math.min(end, from + (at + 1) * columnNs);
      const time = Math.max(0, right - left) * density;
      this.isUsed[at] = 1;
      this.busy[at]! += time;
      // An instant has no length but is there.
      this.byClass[at * LANE_CLASSES.length + classPlace]! += time + 1e-9;
    }
    this.alone[2 * first] = start;
    this.alone[2 * first + 1] = end;
    if (first < this.firstUsed) this.firstUsed = first;
    if (last > this.lastUsed) this.lastUsed = last;
  }

  /** Draws the columns of one lane, and is empty afterward. */
  flush(row: TrackRow, depth: number): void {
    const { rectangles, origin, range } = this.scene;
    const [top, height] = [laneTop(row, depth), row.lane - LANE_GAP_PX];
    const classes = this.classes.sort((a, b) => a - b);
    for (let at = this.firstUsed; at <= this.lastUsed; at++) {
      if (this.isUsed[at] === 0) continue;
      const first = at * LANE_CLASSES.length;
      let best = 0;
      let most = -1;
      for (const place of classes) {
        const time = this.byClass[first + place]!;
        if (time > most) {
          best = place;
          most = time;
        }
        this.byClass[first + place] = 0;
      }
      const paint = this.paints[best]!;
      const isAlone =
        this.count[at] === 1 &&
        this.count[at - 1] !== undefined &&
        this.count[at - 1]! + (this.count[at + 1] ?? 0) === 0;
      if (isAlone) {
        rectangles.add(
          this.alone[2 * at]! - origin,
          this.alone[2 * at + 1]! - origin,
          top,
          height,
          paint.color,
          1,
          paint.mode,
        );
      } else {
        const share = Math.max(LEAST_BUCKET_HEIGHT, Math.min(1, this.busy[at]! / this.columnNs));
        const tall = Math.max(2, Math.round(height * share));
        const start = range.from + at * this.columnNs - origin;
        rectangles.add(start, start + this.columnNs, top + height - tall, tall, paint.color, BUCKET_ALPHA, BUCKET);
      }
      this.busy[at] = this.isUsed[at] = 0;
    }
    // Neighbors were looked at until here.
    if (this.lastUsed >= 0) this.count.fill(0, this.firstUsed, this.lastUsed + 1);
    this.firstUsed = Infinity;
    this.lastUsed = -1;
    this.classes = [];
    this.lastClass = -1;
  }
}

/** The share of time that a device is busy; what is known finely goes before what is known coarsely. */
function deviceBusy(tracks: number[], store: LaneStore, range: Range, binNs: number): Stairs {
  const bins = Math.ceil(lengthOf(range) / binNs);
  const times = Float64Array.from({ length: bins }, (_, bin) => range.from + (bin * lengthOf(range)) / bins);
  const values = new Float64Array(bins);
  const sharesOf = (lanes: Lanes) => busyShares(lanes, range.from, range.to, bins, (name) => name !== "annotation");
  for (const track of tracks) {
    const { whole, current } = store.lanes(track);
    const coarse = whole && whole !== current && !covers(current, range) ? sharesOf(whole) : undefined;
    const fine = current && sharesOf(current);
    for (let at = 0; at < bins; at++) {
      const middle = times[at]! + binNs / 2;
      const isFine = current && middle >= current.from && middle <= current.to;
      values[at] = Math.min(1, values[at]! + ((isFine ? fine : coarse)?.[at] ?? 0));
    }
  }
  return { times, values, most: 1 };
}
