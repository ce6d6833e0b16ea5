// What is drawn above the spans: labels, the selection and its arrows, ranges and matches.
import { figureText } from "../format/number";
import { frameLabel } from "../format/frames";
import { spanLabel } from "../format/names";
import { shortKernelName } from "../format/kernel_name";
import type { LaneMarks } from "../server/types";
import type { LaneStore } from "./lane_store";
import { classAt, depthRange, firstSeen, lowest, nameAt, type Lanes } from "./lanes";
import type { Palette } from "./palette";
import type { PathMark } from "./path";
import { hasLane, laneTop, type Row, type TrackRow } from "./rows";
import type { Scene, WaitOf } from "./scene";
import { fittedText, LABEL_FONT_PX } from "./text";
import { lengthOf, type Range } from "./view";

export type Spot = { track: number; depth: number; start: number; dur: number; spanId: number };
export type Arrow = { from: Spot; to: Spot };

export type Picture = {
  width: number;
  height: number;
  scroll: number;
  view: Range;
  rows: Row[];
  store: LaneStore;
  scene: Scene;
  palette: Palette;
  selected: Spot | undefined;
  hovered: Spot | undefined;
  range: Range | undefined;
  marks: Range[];
  /** Where the matches of the search lie, from the first event. */
  matches: LaneMarks[];
  /** The first step, from the first event. */
  zero: number;
  arrows: Arrow[];
  /** The same collective on several ranks. */
  matched: Spot[];
  waitOf: WaitOf | undefined;
  /** Parts of spans that the critical path goes through. */
  path: PathMark[];
};

const LABEL_FROM_PX = 30;
const MOST_LABELS = 600;
const MATCHED_LINE_PX = 1.5;
const PATH_EDGE_PX = 2;

export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const scale = devicePixelRatio;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

export function drawOverlay(context: CanvasRenderingContext2D, picture: Picture): void {
  const x = (time: number) => ((time - picture.view.from) / lengthOf(picture.view)) * picture.width;
  drawLabels(context, picture, x);
  drawPath(context, picture, x);
  drawMatches(context, picture, x);
  for (const mark of picture.marks) drawBand(context, picture, mark, x, false);
  if (picture.range) drawBand(context, picture, picture.range, x, true);
  for (const spot of picture.matched) outline(context, picture, spot, x, MATCHED_LINE_PX);
  if (picture.hovered) outline(context, picture, picture.hovered, x, 1);
  if (picture.selected) outline(context, picture, picture.selected, x, 2);
  for (const arrow of picture.arrows) drawArrow(context, picture, arrow, x);
  drawDirections(context, picture);
}

export function visible(picture: Pick<Picture, "rows" | "scroll" | "height">): Row[] {
  return picture.rows.filter((row) => row.y + row.height > picture.scroll && row.y < picture.scroll + picture.height);
}

/** Where a span lies on screen; undefined if its track is folded away. */
function boxOf(
  picture: Picture,
  spot: Spot,
  x: (time: number) => number,
): { left: number; right: number; top: number; height: number } | undefined {
  const row = trackRowOf(picture.rows, spot.track);
  if (!row || !hasLane(row, spot.depth)) return undefined;
  const left = x(spot.start);
  return {
    left,
    right: Math.max(left + 1, x(spot.start + spot.dur)),
    top: laneTop(row, spot.depth) - picture.scroll,
    height: row.lane - 1,
  };
}

export function trackRowOf(rows: Row[], track: number): TrackRow | undefined {
  return rows.find((row): row is TrackRow => row.kind === "track" && row.track.track === track);
}

type Label = { lanes: Lanes; entry: number; left: number; right: number; middle: number; isWaiting: boolean };

function drawLabels(context: CanvasRenderingContext2D, picture: Picture, x: (time: number) => number): void {
  context.font = `${LABEL_FONT_PX}px ${picture.palette.sans}`;
  context.textBaseline = "middle";
  // Names stay letter by letter: no ligature may turn `256x256` into something else.
  context.textRendering = "optimizeSpeed";
  const tracks = visible(picture).filter((row): row is TrackRow => row.kind === "track" && !row.isFolded);
  let labels = tracks.flatMap((row) => labelsOf(row, picture, x));
  if (labels.length > MOST_LABELS)
    labels = labels.sort((a, b) => b.right - b.left - (a.right - a.left)).slice(0, MOST_LABELS);
  for (const { lanes, entry, left, right, middle, isWaiting } of labels) {
    const className = classAt(lanes, entry);
    const text = fittedText(context, nameOnSpan(nameAt(lanes, entry), className), right - left - 10);
    if (text === "") continue;
    context.fillStyle = isWaiting ? picture.palette.ink : picture.palette.text(className);
    context.fillText(text, left + 5, middle);
  }
}

/** The spans of a track that have room for words. */
function labelsOf(row: TrackRow, picture: Picture, x: (time: number) => number): Label[] {
  const { view, width, scroll } = picture;
  const lanes = picture.store.lanes(row.track.track).current;
  if (!lanes) return [];
  const labels: Label[] = [];
  const leastNs = (LABEL_FROM_PX * lengthOf(view)) / width;
  for (const depth of row.lanes) {
    const [first, end] = depthRange(lanes, depth);
    const middle = laneTop(row, depth) - scroll + row.lane / 2;
    for (let entry = firstSeen(lanes, first, end, view.from); entry < end && lanes.start[entry]! < view.to; entry++) {
      if (lanes.dur[entry]! < leastNs || lanes.count[entry]! > 1) continue;
      let left = Math.max(0, x(lanes.start[entry]!));
      let right = Math.min(width, x(lanes.start[entry]! + lanes.dur[entry]!));
      // On the part of a collective that is wider: waiting or transfer.
      const wait = picture.waitOf?.(row.track.track, lanes.spanId[entry]!) ?? 0;
      const transfer = Math.max(left, Math.min(right, x(lanes.start[entry]! + wait)));
      const isWaiting = wait > 0 && transfer - left > right - transfer;
      if (isWaiting) right = transfer;
      else if (wait > 0) left = transfer;
      if (right - left >= LABEL_FROM_PX) labels.push({ lanes, entry, left, right, middle, isWaiting });
    }
  }
  return labels;
}

export function nameOnSpan(name: string, className: string): string {
  if (className === "python") return frameLabel(name);
  return className === "kernel" || className === "communication" ? shortKernelName(name) : spanLabel(name);
}

/** A foot of two pixels below every match; the server has put together what no pixel separates. */
function drawMatches(context: CanvasRenderingContext2D, picture: Picture, x: (time: number) => number): void {
  context.fillStyle = picture.palette.accent;
  for (const lane of picture.matches) {
    const row = trackRowOf(picture.rows, lane.track);
    if (!row || !hasLane(row, lane.depth)) continue;
    const top = laneTop(row, lane.depth) - picture.scroll + row.lane - 3;
    if (top < -2 || top > picture.height) continue;
    for (const [start, end] of lane.ranges) {
      const left = Math.max(-2, x(start - picture.zero));
      const right = Math.min(picture.width, x(end - picture.zero));
      if (left <= picture.width && right >= -2) context.fillRect(left, top, Math.max(2, right - left), 2);
    }
  }
}

/** An edge of two pixels on the parts of spans that the critical path goes through. */
function drawPath(context: CanvasRenderingContext2D, picture: Picture, x: (time: number) => number): void {
  context.fillStyle = picture.palette.ink;
  for (const { track, depth, from, to } of picture.path) {
    const row = trackRowOf(picture.rows, track);
    if (!row || !hasLane(row, depth)) continue;
    const top = laneTop(row, depth) - picture.scroll;
    const [left, right] = [Math.max(-2, x(from)), Math.min(picture.width + 2, x(to))];
    if (right >= left) context.fillRect(left, top, Math.max(1, right - left), PATH_EDGE_PX);
  }
}

function drawBand(
  context: CanvasRenderingContext2D,
  picture: Picture,
  range: Range,
  x: (time: number) => number,
  isChosen: boolean,
): void {
  const [left, right] = [x(range.from), x(range.to)];
  context.globalAlpha = isChosen ? 0.16 : 0.08;
  context.fillStyle = picture.palette.accent;
  context.fillRect(left, 0, right - left, picture.height);
  context.globalAlpha = 1;
  for (const edge of [left, right]) context.fillRect(Math.round(edge), 0, 1, picture.height);
}

function outline(
  context: CanvasRenderingContext2D,
  picture: Picture,
  spot: Spot,
  x: (time: number) => number,
  line: number,
): void {
  const box = boxOf(picture, spot, x);
  if (!box) return;
  const left = Math.max(-4, box.left);
  const right = Math.min(picture.width + 4, box.right);
  context.lineWidth = line;
  context.strokeStyle = line === 1 ? picture.palette.ink : picture.palette.accent;
  const out = line === 1 ? 0.5 : 1.5;
  context.strokeRect(left - out, box.top - out, right - left + 2 * out, box.height + 2 * out);
}

/** A curve that leaves at the right and arrives from above; what lies off screen ends in a word about the distance. */
function drawArrow(
  context: CanvasRenderingContext2D,
  picture: Picture,
  arrow: Arrow,
  x: (time: number) => number,
): void {
  const [from, to] = [boxOf(picture, arrow.from, x), boxOf(picture, arrow.to, x)];
  if (!from || !to) return;
  const start = { x: Math.max(-10, Math.min(picture.width + 10, from.right)), y: from.top + from.height / 2 };
  const end = { x: to.left, y: to.top > start.y ? to.top : to.top + to.height };
  const side = to.top > start.y ? -1 : 1;
  context.strokeStyle = context.fillStyle = picture.palette.accent;
  context.lineWidth = 1.75;
  if (end.x < 0 || end.x > picture.width) {
    const edge = end.x < 0 ? 8 : picture.width - 8;
    const distance = figureText("ns", Math.round(Math.abs(arrow.to.start - arrow.from.start - arrow.from.dur)));
    context.beginPath();
    context.moveTo(start.x, start.y);
    context.bezierCurveTo(start.x + 30, start.y, edge, start.y, edge, end.y);
    context.stroke();
    chip(context, picture, end.x < 0 ? `← ${distance}` : `${distance} →`, edge, end.y);
    return;
  }
  const pull = Math.min(60, Math.max(16, Math.abs(end.y - start.y) / 2));
  context.beginPath();
  context.moveTo(start.x, start.y);
  context.bezierCurveTo(start.x + Math.min(40, pull), start.y, end.x, end.y + side * pull, end.x, end.y + side * 5);
  context.stroke();
  context.beginPath();
  context.moveTo(end.x, end.y);
  context.lineTo(end.x - 4, end.y + side * 7);
  context.lineTo(end.x + 4, end.y + side * 7);
  context.fill();
}

function chip(context: CanvasRenderingContext2D, picture: Picture, text: string, x: number, y: number): void {
  context.font = `600 11px ${picture.palette.sans}`;
  const width = context.measureText(text).width + 12;
  const left = Math.max(2, Math.min(picture.width - width - 2, x - width / 2));
  context.fillStyle = picture.palette.accent;
  context.beginPath();
  context.roundRect(left, y - 9, width, 18, 3);
  context.fill();
  context.fillStyle = picture.palette.onAccent;
  context.textBaseline = "middle";
  context.fillText(text, left + 6, y + 0.5);
}

/** An empty lane says where its next event is. */
function drawDirections(context: CanvasRenderingContext2D, picture: Picture): void {
  context.font = `11px ${picture.palette.sans}`;
  context.textBaseline = "middle";
  for (const row of visible(picture)) {
    if (row.kind !== "track" || row.isFolded) continue;
    const { whole, current } = picture.store.lanes(row.track.track);
    if (!whole || !current) continue;
    const { before, after, isEmpty } = neighbors(whole, picture.view);
    if (!isEmpty || !neighbors(current, picture.view).isEmpty) continue;
    context.fillStyle = picture.palette.ink3;
    const y = row.y - picture.scroll + 16;
    if (after !== undefined) {
      const text = `next event in ${figureText("ns", Math.round(after - picture.view.to))}  →`;
      context.fillText(text, picture.width - context.measureText(text).width - 10, y);
    }
    if (before !== undefined)
      context.fillText(`←  last event ${figureText("ns", Math.round(picture.view.from - before))} ago`, 10, y);
  }
}

function neighbors(lanes: Lanes, view: Range): { before?: number; after?: number; isEmpty: boolean } {
  if (lanes.size === 0) return { isEmpty: true };
  const [first, end] = depthRange(lanes, lanes.depth[0]!);
  const next = first + lowest(end - first, (i) => lanes.start[first + i]! > view.to);
  const before = next > first ? lanes.start[next - 1]! + lanes.dur[next - 1]! : undefined;
  const after = next < end ? lanes.start[next] : undefined;
  return { before, after, isEmpty: before === undefined || before < view.from };
}
