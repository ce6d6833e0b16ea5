// What is drawn above the spans: labels, the grid, busy curves, the selection and its arrows, ranges and matches.
import { figureText } from "../format/number";
import { spanLabel } from "../format/names";
import { shortKernelName } from "../format/kernel_name";
import type { Match } from "../server/types";
import { pointsIn } from "./curves";
import type { LaneStore } from "./lane_store";
import { classAt, type Lanes } from "./lanes";
import type { Palette } from "./palette";
import { hasLane, laneTop, type Row, type TrackRow } from "./rows";
import { deviceBusy } from "./scene";
import { lengthOf, rulerFormat, TICK_PX, type Range } from "./view";

export type Spot = { track: number; depth: number; start: number; dur: number; spanId: number };
export type Arrow = { from: Spot; to: Spot };

export type Picture = {
  width: number;
  height: number;
  scroll: number;
  view: Range;
  rows: Row[];
  store: LaneStore;
  palette: Palette;
  selected: Spot | undefined;
  hovered: Spot | undefined;
  range: Range | undefined;
  marks: Range[];
  matches: Match[];
  matchStarts: Float64Array;
  arrows: Arrow[];
};

const LABEL_FROM_PX = 30;
const LABEL_FONT_PX = 11;
const MOST_LABELS = 600;
const LEAST_LETTERS = 4;

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
  for (const row of visible(picture)) {
    if (row.kind === "busy") drawBusyCurve(context, picture, row);
    if (row.kind === "curve") drawMemoryCurve(context, picture, row, x);
  }
  drawLabels(context, picture, x);
  drawMatches(context, picture, x);
  for (const mark of picture.marks) drawBand(context, picture, mark, x, false);
  if (picture.range) drawBand(context, picture, picture.range, x, true);
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

/** What lies behind the spans: the lines of the ruler, and between tracks. */
export function drawGround(context: CanvasRenderingContext2D, picture: Picture): void {
  const { palette, width, view } = picture;
  const { step } = rulerFormat(view, width / TICK_PX);
  context.fillStyle = palette.line;
  for (let at = Math.ceil(view.from / step); at * step <= view.to; at++) {
    context.fillRect(Math.round(((at * step - view.from) / lengthOf(view)) * width), 0, 1, picture.height);
  }
  for (const row of visible(picture)) {
    if (row.kind === "group") {
      context.fillStyle = palette.surface;
      context.fillRect(0, row.y - picture.scroll, width, row.height);
      context.fillStyle = palette.line;
      context.fillRect(0, row.y - picture.scroll, width, 1);
    }
    context.fillStyle = palette.line;
    context.fillRect(0, row.y + row.height - 1 - picture.scroll, width, 1);
  }
}

function drawBusyCurve(context: CanvasRenderingContext2D, picture: Picture, row: Extract<Row, { kind: "busy" }>): void {
  const bins = Math.max(1, Math.floor(picture.width / 3));
  const shares = deviceBusy(
    row.tracks.map((track) => track.track),
    picture.store,
    picture.view,
    bins,
  );
  drawArea(
    context,
    picture,
    row,
    Array.from(shares, (share, at) => [(at * picture.width) / bins, share]),
    picture.width,
  );
}

function drawMemoryCurve(
  context: CanvasRenderingContext2D,
  picture: Picture,
  row: Extract<Row, { kind: "curve" }>,
  x: (time: number) => number,
): void {
  const { curve } = row;
  const end = Math.min(picture.width, x(curve.times.at(-1) ?? 0));
  drawArea(
    context,
    picture,
    row,
    pointsIn(curve, picture.view).map(([time, value]) => [Math.max(0, x(time)), value / curve.most]),
    end,
  );
}

/** Stairs: each point is where a share begins, which lasts until the next one. */
function drawArea(
  context: CanvasRenderingContext2D,
  picture: Picture,
  row: Row,
  steps: [number, number][],
  end: number,
): void {
  if (steps.length === 0) return;
  const [floor, tall] = [row.y - picture.scroll + row.height - 4, row.height - 10];
  context.beginPath();
  context.moveTo(steps[0]![0], floor);
  steps.forEach(([left, share], at) => {
    const y = floor - share * tall;
    context.lineTo(left, y);
    context.lineTo(steps[at + 1]?.[0] ?? end, y);
  });
  context.lineTo(end, floor);
  context.globalAlpha = 0.2;
  context.fillStyle = picture.palette.ink2;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = picture.palette.ink3;
  context.lineWidth = 1;
  context.stroke();
}

const orders = new WeakMap<Lanes, Uint32Array>();

/** Exact spans from the longest: labels go to the widest first, and the rest is never looked at. */
function longestFirst(lanes: Lanes): Uint32Array {
  let order = orders.get(lanes);
  if (!order) {
    const exact: number[] = [];
    for (let i = 0; i < lanes.size; i++) if (lanes.count[i] === 1) exact.push(i);
    const isAnnotation = (i: number) => Number(classAt(lanes, i) === "annotation");
    order = Uint32Array.from(exact.sort((a, b) => lanes.dur[b]! - lanes.dur[a]! || isAnnotation(b) - isAnnotation(a)));
    orders.set(lanes, order);
  }
  return order;
}

function drawLabels(context: CanvasRenderingContext2D, picture: Picture, x: (time: number) => number): void {
  context.font = `${LABEL_FONT_PX}px ${picture.palette.sans}`;
  context.textBaseline = "middle";
  // Names stay letter by letter: no ligature may turn `256x256` into something else.
  context.textRendering = "optimizeSpeed";
  const pixelsPerNs = picture.width / lengthOf(picture.view);
  let drawn = 0;
  for (const row of visible(picture)) {
    if (row.kind !== "track" || row.isFolded) continue;
    const { current } = picture.store.lanes(row.track.track);
    if (!current) continue;
    for (const i of longestFirst(current)) {
      if (current.dur[i]! * pixelsPerNs < LABEL_FROM_PX || drawn >= MOST_LABELS) break;
      if (!hasLane(row, current.depth[i]!)) continue;
      const left = Math.max(0, x(current.start[i]!));
      const right = Math.min(picture.width, x(current.start[i]! + current.dur[i]!));
      if (right - left < LABEL_FROM_PX) continue;
      const text = fitted(context, nameOnSpan(current.names[i]!, classAt(current, i)), right - left - 10);
      if (text === "") continue;
      context.fillStyle = picture.palette.text(classAt(current, i));
      context.fillText(text, left + 5, laneTop(row, current.depth[i]!) - picture.scroll + row.lane / 2);
      drawn++;
    }
  }
}

export function nameOnSpan(name: string, className: string): string {
  return className === "kernel" || className === "communication" ? shortKernelName(name) : spanLabel(name);
}

const widths = new Map<string, number>();

/** As much of a text as fits, with `…` for the rest; nothing if that would say nothing. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(text, (width = context.measureText(text).width));
  }
  if (width <= room) return text;
  const letters = Math.floor((text.length * room) / width) - 1;
  return letters < LEAST_LETTERS ? "" : `${text.slice(0, letters)}…`;
}

function drawMatches(context: CanvasRenderingContext2D, picture: Picture, x: (time: number) => number): void {
  context.fillStyle = picture.palette.accent;
  picture.matches.forEach((match, place) => {
    const start = picture.matchStarts[place]!;
    if (start > picture.view.to || start + match.dur_ns < picture.view.from) return;
    const row = trackRowOf(picture.rows, match.track);
    if (!row || !hasLane(row, match.depth)) return;
    const left = x(start);
    context.fillRect(
      left,
      laneTop(row, match.depth) - picture.scroll + row.lane - 3,
      Math.max(2, x(start + match.dur_ns) - left),
      2,
    );
  });
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
    const { before, after, isEmpty } = neighbours(whole, picture.view);
    if (!isEmpty || !neighbours(current, picture.view).isEmpty) continue;
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

function neighbours(lanes: Lanes, view: Range): { before?: number; after?: number; isEmpty: boolean } {
  let [before, after]: [number | undefined, number | undefined] = [undefined, undefined];
  for (let i = 0; i < lanes.size && lanes.depth[i] === lanes.depth[0]; i++) {
    const end = lanes.start[i]! + lanes.dur[i]!;
    if (lanes.start[i]! > view.to) {
      after = lanes.start[i]!;
      break;
    }
    if (end >= view.from) return { isEmpty: false };
    before = end;
  }
  return { before, after, isEmpty: true };
}
