// The rows of the timeline from top to bottom: pinned tracks, then processes with their threads, then devices with
// their streams.
import type { TimelineOutline, Track } from "../server/types";
import type { Curve } from "./curves";

export type Row =
  | { kind: "group"; key: string; title: string; note: string; isFolded: boolean; y: number; height: number }
  | {
      kind: "track";
      track: Track;
      title: string;
      note: string;
      isFolded: boolean;
      isPinned: boolean;
      isWhole: boolean;
      first: number;
      lanes: number;
      hidden: number;
      lane: number;
      y: number;
      height: number;
    }
  | { kind: "curve"; curve: Curve; title: string; note: string; y: number; height: number }
  | { kind: "note"; title: string; note: string; y: number; height: number }
  | { kind: "busy"; device: number; tracks: Track[]; title: string; note: string; y: number; height: number };

export type TrackRow = Extract<Row, { kind: "track" }>;

export type RowOptions = {
  /** Tracks and groups whose fold differs from the usual. */
  toggled: ReadonlySet<string>;
  pinned: number[];
  laneHeight: number;
  /** Lanes of Python frames above the operators of a track; they wait for the track to be unfolded. */
  pythonLanes: (track: number) => number;
  /** Counters have a group of their own; other curves are below their device, or the first group that there is. */
  curves: Curve[];
  /** Counters that have no curve, because there are too many. */
  countersLeftOut: number;
  deviceName: (device: number) => string;
};

const COUNTERS_KEY = "counters";
const GROUP_PX = 25;
const BUSY_PX = 42;
const PADDING_PX = 4;
const FOLDED_PX = 22;
const SINGLE_LANE_PX = 24;
const SMALLEST_TRACK_PX = 40;
/** Deeper lanes wait for the track to be unfolded. */
const USUAL_LANES = 10;
const MOST_LANES = 48;
/** Threads with fewer spans than this share of the busiest are folded at first; so are streams if there are many. */
const QUIET_SHARE = 0.01;
const MANY_STREAMS = 12;

export function layOut(outline: TimelineOutline, options: RowOptions): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = 0;
  const add = (row: Row) => {
    rows.push({ ...row, y });
    y += row.height;
  };
  const busiest = Math.max(1, ...outline.tracks.map((track) => track.spans));
  const streams = outline.tracks.filter((track) => track.kind === "stream").length;
  const isQuiet = (track: Track) =>
    track.spans < busiest * QUIET_SHARE && (track.kind !== "stream" || streams > MANY_STREAMS);
  const isFolded = (track: Track) => isQuiet(track) !== options.toggled.has(String(track.track));
  for (const number of options.pinned) {
    const track = outline.tracks.find((track) => track.track === number);
    if (track) add(trackRow(track, isFolded(track), true, options));
  }
  const found = groups(outline);
  const devices = found.flatMap((group) => (group.device === null ? [] : [group.device]));
  const homeOf = (curve: Curve) => (devices.includes(curve.device ?? -1) ? curve.device : (devices[0] ?? null));
  const addCurve = (curve: Curve) =>
    add({ kind: "curve", curve, title: curve.title, note: curve.note, y: 0, height: BUSY_PX });
  const addCurves = (device: number | null) => {
    for (const curve of options.curves.filter((curve) => !curve.isCounter && homeOf(curve) === device)) addCurve(curve);
  };
  for (const group of found) {
    const folded = weightOf(group) < busiest * QUIET_SHARE !== options.toggled.has(group.key);
    add({
      kind: "group",
      key: group.key,
      title: group.title,
      note: group.device === null ? "" : options.deviceName(group.device),
      isFolded: folded,
      y: 0,
      height: GROUP_PX,
    });
    if (folded) continue;
    for (const track of group.tracks) {
      if (!options.pinned.includes(track.track)) add(trackRow(track, isFolded(track), false, options));
    }
    if (group.device !== null) {
      add({
        kind: "busy",
        device: group.device,
        tracks: group.tracks,
        title: "GPU busy",
        note: group.tracks.length > 1 ? "all streams" : "share of time",
        y: 0,
        height: BUSY_PX,
      });
    }
    if (group.device !== null || (devices.length === 0 && group === found[0])) addCurves(group.device);
  }
  const counters = options.curves.filter((curve) => curve.isCounter);
  if (counters.length > 0) {
    const isFolded = options.toggled.has(COUNTERS_KEY);
    add({ kind: "group", key: COUNTERS_KEY, title: "Counters", note: "", isFolded, y: 0, height: GROUP_PX });
    if (!isFolded) counters.forEach(addCurve);
    if (!isFolded && options.countersLeftOut > 0) {
      const title = `${options.countersLeftOut} more counters`;
      add({ kind: "note", title, note: "not drawn; SQL has all of them", y: 0, height: BUSY_PX });
    }
  }
  return { rows, height: y };
}

type Group = { key: string; title: string; device: number | null; tracks: Track[] };

function groups(outline: TimelineOutline): Group[] {
  const found = new Map<string, Group>();
  // Tracks without spans hold counters at most.
  const isEmpty = outline.tracks.every((track) => track.spans === 0);
  for (const track of outline.tracks.filter((track) => track.spans > 0 || isEmpty)) {
    const device = track.kind === "stream" ? (track.device ?? 0) : null;
    const key = device === null ? `h:${track.process}` : `d:${device}`;
    const title = device === null ? track.process || "process" : `GPU ${device}`;
    const group = found.get(key) ?? { key, title, device, tracks: [] };
    group.tracks.push(track);
    found.set(key, group);
  }
  const all = [...found.values()];
  for (const group of all)
    group.tracks.sort((a, b) => kindOrder(a) - kindOrder(b) || b.spans - a.spans || a.track - b.track);
  // Hosts first, as they launch what the devices do; those that do next to nothing come last.
  const busiest = Math.max(1, ...all.map(weightOf));
  const order = (group: Group) => (weightOf(group) < busiest * QUIET_SHARE ? 2 : group.device === null ? 0 : 1);
  return all.sort((a, b) => order(a) - order(b) || (a.device ?? 0) - (b.device ?? 0) || weightOf(b) - weightOf(a));
}

function weightOf(group: Group): number {
  return group.tracks.reduce((sum, track) => sum + track.spans, 0);
}

function kindOrder(track: Track): number {
  return track.kind === "async" ? 1 : 0;
}

function trackRow(track: Track, isFolded: boolean, isPinned: boolean, options: RowOptions): TrackRow {
  const isToggled = options.toggled.has(`+${track.track}`);
  const python = options.pythonLanes(track.track);
  const first = isToggled || python >= track.depth ? 0 : python;
  const lanes = isFolded ? 1 : Math.max(1, Math.min(track.depth - first, isToggled ? MOST_LANES : USUAL_LANES));
  const lane = isFolded ? FOLDED_PX - 6 : track.kind === "stream" && lanes === 1 ? SINGLE_LANE_PX : options.laneHeight;
  const height = isFolded ? FOLDED_PX : Math.max(SMALLEST_TRACK_PX, lanes * lane + 2 * PADDING_PX);
  const [title, note] = trackWords(track);
  return {
    kind: "track",
    track,
    title,
    note,
    isFolded,
    isPinned,
    isWhole: isToggled,
    first,
    lanes,
    hidden: track.depth - lanes,
    lane,
    y: 0,
    height,
  };
}

/** `thread 123 (python)` → `thread 123` and `python`. */
function trackWords(track: Track): [string, string] {
  if (track.kind === "stream") return [track.stream === null ? track.name : `stream ${track.stream}`, ""];
  if (track.name === "") return [`track ${track.track}`, ""];
  const match = /^(.*?)\s*\(([^()]*)\)$/.exec(track.name);
  return match ? [match[1] || track.name, match[2] ?? ""] : [track.name, ""];
}

/** Top of a lane inside of the rows. */
export function laneTop(row: TrackRow, depth: number): number {
  const used = row.lanes * row.lane;
  const top = row.isFolded
    ? 3
    : row.track.kind === "stream"
      ? Math.max(PADDING_PX, (row.height - used) / 2)
      : PADDING_PX;
  return row.y + top + (depth - row.first) * row.lane;
}

export function rowAt(rows: Row[], y: number): Row | undefined {
  return rows.find((row) => y >= row.y && y < row.y + row.height);
}

/** The lane of a track at a height; -1 between lanes. */
export function laneAt(row: TrackRow, y: number): number {
  const depth = row.first + Math.floor((y - laneTop(row, row.first)) / row.lane);
  return hasLane(row, depth) ? depth : -1;
}

/** Whether a lane is on screen when the track is. */
export function hasLane(row: TrackRow, depth: number): boolean {
  return depth >= row.first && depth < row.first + row.lanes;
}
