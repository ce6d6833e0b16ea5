// From events to rectangles: spans that can be seen fill their lane; what is too narrow goes into columns that stand on
// the floor of the lane, as high as they are busy, so that density reads as a skyline and never as one long span.
import type { LaneStore } from "./lane_store";
import { busyShares, classAt, depthRange, LANE_CLASSES, lowest, nameAt, type Lanes } from "./lanes";
import { BUCKET, type Paint, type Palette } from "./palette";
import { Rectangles } from "./painter";
import { laneTop, type Row, type TrackRow } from "./rows";
import { lengthOf, type Range } from "./view";

const EXACT_FROM_PX = 3;
const COLUMN_PX = 2;
const BUCKET_ALPHA = 0.78;
const LEAST_BUCKET_HEIGHT = 0.22;
const LANE_GAP_PX = 1;
/** A picture serves views that are this much longer or shorter; they stretch it. */
const STRETCH = 1.25;
/** More than is seen, on each side and above and below, as shares of the screen. */
const MORE = 0.5;
const BUSY_PX = 3;

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
  /** For each device the share of time that it is busy, in equal parts of the range. */
  busy: ReadonlyMap<number, Float64Array>;
};

/** Whether a picture can be moved and stretched to show a view. */
export function canShow(scene: Scene, { view, width, scroll, height }: Frame): boolean {
  const stretch = lengthOf(view) / width / scene.pixelNs;
  const holds = scene.range.from <= view.from && scene.range.to >= view.to;
  const holdsRows = scene.top <= scroll && scene.bottom >= scroll + height;
  return holds && holdsRows && stretch <= STRETCH && stretch >= 1 / STRETCH;
}

export function buildScene(
  rows: Row[],
  store: LaneStore,
  palette: Palette,
  colorBy: ColorBy,
  { view, width, scroll, height }: Frame,
  previous?: Scene,
): Scene {
  const rectangles = previous?.rectangles ?? new Rectangles();
  rectangles.size = 0;
  const more = MORE * lengthOf(view);
  const busy = new Map<number, Float64Array>();
  const scene = {
    rectangles,
    origin: (view.from + view.to) / 2,
    range: { from: view.from - more, to: view.to + more },
    pixelNs: lengthOf(view) / width,
    top: scroll - MORE * height,
    bottom: scroll + (1 + MORE) * height,
    busy,
  };
  const paints = LANE_CLASSES.map((name) => palette.of(name));
  const columns = new Columns(scene, paints);
  const paintOf = (lanes: Lanes, entry: number): Paint =>
    colorBy === "class"
      ? paints[lanes.classOf[entry]!]!
      : palette.ofName(classAt(lanes, entry), nameAt(lanes, entry));
  for (const row of rows) {
    if (row.y + row.height < scene.top || row.y > scene.bottom) continue;
    if (row.kind === "busy") {
      const bins = Math.ceil(lengthOf(scene.range) / scene.pixelNs / BUSY_PX);
      busy.set(
        row.device,
        deviceBusy(
          row.tracks.map((track) => track.track),
          store,
          scene.range,
          bins,
        ),
      );
    }
    if (row.kind !== "track") continue;
    const { whole, current } = store.lanes(row.track.track);
    for (let depth = row.first; depth < row.first + row.lanes; depth++) {
      if (current) addLane(scene, columns, row, current, depth, paintOf, undefined);
      // Around what is known finely, the coarse picture of the whole recording stays.
      if (whole && whole !== current) addLane(scene, columns, row, whole, depth, paintOf, current);
      columns.flush(row, depth);
    }
  }
  return scene;
}

function addLane(
  scene: Scene,
  columns: Columns,
  row: TrackRow,
  lanes: Lanes,
  depth: number,
  paintOf: (lanes: Lanes, entry: number) => Paint,
  except: Range | undefined,
): void {
  const { range, origin, pixelNs, rectangles } = scene;
  const [first, end] = depthRange(lanes, depth);
  const [top, height] = [laneTop(row, depth), row.lane - LANE_GAP_PX];
  const last = first + lowest(end - first, (i) => lanes.start[first + i]! > range.to);
  for (let i = first; i < last; i++) {
    let [start, stop] = [lanes.start[i]!, lanes.start[i]! + lanes.dur[i]!];
    if (stop < range.from) continue;
    if (except) {
      if (start >= except.from && stop <= except.to) continue;
      if (start < except.from) stop = Math.min(stop, except.from);
      else start = Math.max(start, except.to);
      if (stop < start) continue;
    }
    const many = lanes.count[i]!;
    if (many === 1 && lanes.dur[i]! >= EXACT_FROM_PX * pixelNs) {
      const paint = paintOf(lanes, i);
      // What reaches far out is cut where nobody looks, so that its ends do not lose their place.
      rectangles.add(
        Math.max(start, range.from - lengthOf(range)) - origin,
        Math.min(stop, range.to + lengthOf(range)) - origin,
        top,
        height,
        paint.color,
        1,
        paint.mode,
      );
    } else {
      columns.add(
        start,
        stop,
        many === 1 ? 1 : Math.min(1, lanes.busy[i]! / Math.max(1, lanes.dur[i]!)),
        many,
        lanes.classOf[i]!,
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
  private used: [number, number] = [Infinity, -1];

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
    for (let at = first; at <= last; at++) {
      const overlap = Math.max(0, Math.min(end, from + (at + 1) * columnNs) - Math.max(start, from + at * columnNs));
      this.isUsed[at] = 1;
      this.busy[at]! += overlap * density;
      // An instant has no length but is there.
      this.byClass[at * LANE_CLASSES.length + classPlace]! += overlap * density + 1e-9;
      this.count[at]! += at === first ? count : 0;
    }
    this.alone[2 * first] = start;
    this.alone[2 * first + 1] = end;
    this.used = [Math.min(this.used[0], first), Math.max(this.used[1], last)];
  }

  /** Draws the columns of one lane, and is empty afterwards. */
  flush(row: TrackRow, depth: number): void {
    const { rectangles, origin, range } = this.scene;
    const [top, height] = [laneTop(row, depth), row.lane - LANE_GAP_PX];
    const classes = LANE_CLASSES.length;
    for (let at = this.used[0]; at <= this.used[1]; at++) {
      if (this.isUsed[at] === 0) continue;
      const first = at * classes;
      let [best, most] = [0, -1];
      for (let place = 0; place < classes; place++) {
        const time = this.byClass[first + place]!;
        if (time > most) [best, most] = [place, time];
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
    // Neighbours were looked at until here.
    if (this.used[1] >= 0) this.count.fill(0, this.used[0], this.used[1] + 1);
    this.used = [Infinity, -1];
  }
}

/** Share of time that a device is busy, in equal bins; what is known finely goes before what is known coarsely. */
function deviceBusy(tracks: number[], store: LaneStore, range: Range, bins: number): Float64Array {
  const sum = new Float64Array(bins);
  const sharesOf = (lanes: Lanes) => busyShares(lanes, range.from, range.to, bins, (name) => name !== "annotation");
  for (const track of tracks) {
    const { whole, current } = store.lanes(track);
    const coarse = whole && whole !== current ? sharesOf(whole) : undefined;
    const fine = current && sharesOf(current);
    for (let at = 0; at < bins; at++) {
      const time = range.from + ((at + 0.5) * lengthOf(range)) / bins;
      const isFine = current && time >= current.from && time <= current.to;
      sum[at] = Math.min(1, sum[at]! + ((isFine ? fine : coarse)?.[at] ?? 0));
    }
  }
  return sum;
}
