// The rows of the timeline from top to bottom: pinned tracks, then processes with their threads, then devices with
// their streams, and last what only the profiler's own books need. Several ranks are their devices below each other.
import type { TimelineOutline, Track } from "../server/types";
import type { Curve } from "./curves";
import { lanesOfDepth } from "./sub_lanes";
import { roleOrder, trackWords, type Role } from "./thread_names";

export type Row =
  | { kind: "group"; key: string; title: string; note: string; isFolded: boolean; y: number; height: number }
  | {
      kind: "track";
      track: Track;
      title: string;
      note: string;
      hint: string;
      isFolded: boolean;
      isPinned: boolean;
      isWhole: boolean;
      first: number;
      /** The lanes that are shown, from the top: depths, and fractions where spans of one overlap. */
      lanes: number[];
      hidden: number;
      lane: number;
      /** Whether spans overlap that do not nest. */
      isOverlapping: boolean;
      y: number;
      height: number;
    }
  | { kind: "curve"; curve: Curve; title: string; note: string; y: number; height: number }
  | { kind: "note"; title: string; note: string; y: number; height: number }
  | { kind: "busy"; device: number; tracks: Track[]; title: string; note: string; y: number; height: number };

export type TrackRow = Extract<Row, { kind: "track" }>;

/** The devices of one of several ranks. */
export type RankLanes = { rank: number; title: string; note: string; tracks: Track[] };

export type RowOptions = {
  /** Tracks and groups whose fold differs from the usual. */
  toggled: ReadonlySet<string>;
  pinned: number[];
  laneHeight: number;
  /** Pixels that there are; rows grow to fill them. */
  room: number;
  /** Lanes of Python frames above the operators of a track; they wait for the track to be unfolded. */
  pythonLanes: (track: number) => number;
  /** How many lanes the depths of a track need on which spans overlap. */
  subLanes: (track: number) => ReadonlyMap<number, number> | undefined;
  roleOf: (track: number) => Role | undefined;
  /** Counters have a group of their own; other curves are below their device, or the first group that there is. */
  curves: Curve[];
  /** Counters that have no curve, because there are too many. */
  countersLeftOut: number;
  deviceName: (device: number) => string;
  /** The critical path as a track, if it is shown: above all others. */
  path?: Track;
  /** Instead of all tracks of one rank, the devices of several. */
  ranks?: RankLanes[];
};

const COUNTERS_KEY = "counters";
const BOOKKEEPING_KEY = "bookkeeping";
const GROUP_PX = 25;
const BUSY_PX = 42;
const PADDING_PX = 4;
const FOLDED_PX = 22;
const SINGLE_LANE_PX = 24;
const SMALLEST_TRACK_PX = 40;
/** With several ranks there are many streams, and the second line of a header is left out. */
const SINGLE_RANK_LANE_PX = 18;
const SMALLEST_RANK_TRACK_PX = 26;
const TALL_LANE_PX = 23;
/** Deeper lanes wait for the track to be unfolded, or for room. */
const USUAL_LANES = 10;
const MOST_LANES = 48;
/** Threads with fewer spans than this share of the busiest are folded at first; so are streams if there are many. */
const QUIET_SHARE = 0.01;
const MANY_STREAMS = 12;

/** How much room rows take. */
type Density = {
  lane: number;
  /** Lanes of a track at most. */
  levels: number;
  hasPython: boolean;
  single: number;
  curve: number;
  isRankBusy: boolean;
};

/** The rows, as high as leaves the least room empty; those of the usual height if even they do not fit. */
export function layOut(outline: TimelineOutline, options: RowOptions): { rows: Row[]; height: number } {
  let density: Density = {
    lane: options.laneHeight,
    levels: USUAL_LANES,
    hasPython: false,
    single: options.ranks ? SINGLE_RANK_LANE_PX : SINGLE_LANE_PX,
    curve: BUSY_PX,
    isRankBusy: false,
  };
  let best = layOutAt(outline, options, density);
  for (const change of roomier(density)) {
    if (best.height >= options.room) break;
    const next = layOutAt(outline, options, { ...density, ...change });
    if (next.height > options.room) continue;
    [density, best] = [{ ...density, ...change }, next];
  }
  return best;
}

/**
 * What takes more room, in the order of its worth: more levels of deep threads, their Python frames, higher lanes, how
 * busy each of several ranks is, higher streams and curves.
 */
function roomier(usual: Density): Partial<Density>[] {
  return [
    ...[12, 16, 20, 24, 32, MOST_LANES].map((levels) => ({ levels })),
    { hasPython: true },
    ...Array.from({ length: Math.max(0, TALL_LANE_PX - usual.lane) }, (_, more) => ({ lane: usual.lane + more + 1 })),
    { isRankBusy: true },
    ...Array.from({ length: 20 }, (_, place) => ({
      single: usual.single + Math.min(24, 2 * (place + 1)),
      curve: usual.curve + 4 * (place + 1),
    })),
  ];
}

function layOutAt(outline: TimelineOutline, options: RowOptions, density: Density): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  let y = 0;
  const add = (row: Row) => {
    rows.push({ ...row, y });
    y += row.height;
  };
  const addBusy = (device: number, tracks: Track[]) => {
    const note = tracks.length > 1 ? "all streams" : "share of time";
    add({ kind: "busy", device, tracks, title: "GPU busy", note, y: 0, height: density.curve });
  };
  if (options.ranks) {
    for (const { rank, title, note, tracks } of options.ranks) {
      const key = `r:${rank}`;
      const isFolded = options.toggled.has(key);
      add({ kind: "group", key, title, note, isFolded, y: 0, height: GROUP_PX });
      for (const track of isFolded ? [] : tracks) {
        const isFolded = options.toggled.has(String(track.track));
        add(trackRow(track, isFolded, false, options, density, SMALLEST_RANK_TRACK_PX));
      }
      if (density.isRankBusy && !isFolded && tracks.some((track) => track.kind === "stream")) addBusy(0, tracks);
    }
    return { rows, height: y };
  }
  const busiest = Math.max(1, ...outline.tracks.map((track) => track.spans));
  const streams = outline.tracks.filter((track) => track.kind === "stream").length;
  const isQuiet = (track: Track) =>
    track.kind !== "path" && track.spans < busiest * QUIET_SHARE && (track.kind !== "stream" || streams > MANY_STREAMS);
  const isFolded = (track: Track) => isQuiet(track) !== options.toggled.has(String(track.track));
  const addTrack = (track: Track, isPinned: boolean) =>
    add(trackRow(track, isFolded(track), isPinned, options, density, SMALLEST_TRACK_PX));
  if (options.path) addTrack(options.path, false);
  for (const number of options.pinned) {
    const track = outline.tracks.find((track) => track.track === number);
    if (track) addTrack(track, true);
  }
  const { found, bookkeeping } = groups(outline, options.roleOf);
  const devices = found.flatMap((group) => (group.device === null ? [] : [group.device]));
  const homeOf = (curve: Curve) => (devices.includes(curve.device ?? -1) ? curve.device : (devices[0] ?? null));
  const addCurve = (curve: Curve) =>
    add({ kind: "curve", curve, title: curve.title, note: curve.note, y: 0, height: density.curve });
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
    for (const track of group.tracks) if (!options.pinned.includes(track.track)) addTrack(track, false);
    if (group.device !== null) addBusy(group.device, group.tracks);
    if (group.device !== null || (devices.length === 0 && group === found[0])) addCurves(group.device);
  }
  const counters = options.curves.filter((curve) => curve.isCounter);
  if (counters.length > 0) {
    const isFolded = options.toggled.has(COUNTERS_KEY);
    add({ kind: "group", key: COUNTERS_KEY, title: "Counters", note: "", isFolded, y: 0, height: GROUP_PX });
    if (!isFolded) counters.forEach(addCurve);
    if (!isFolded && options.countersLeftOut > 0) {
      const title = `${options.countersLeftOut} more counters`;
      add({ kind: "note", title, note: "not drawn; query them on the SQL page", y: 0, height: BUSY_PX });
    }
  }
  if (bookkeeping.length > 0) {
    const isFolded = !options.toggled.has(BOOKKEEPING_KEY);
    const note = `${bookkeeping.length} ${bookkeeping.length === 1 ? "track" : "tracks"}`;
    add({ kind: "group", key: BOOKKEEPING_KEY, title: "Bookkeeping", note, isFolded, y: 0, height: GROUP_PX });
    for (const track of isFolded ? [] : bookkeeping) if (!options.pinned.includes(track.track)) addTrack(track, false);
  }
  return { rows, height: y };
}

type Group = { key: string; title: string; device: number | null; tracks: Track[] };

/** Processes that the profiler makes up for its own marks, and those that have no number. */
const OWN_PROCESSES = /^(traces|spans)\b/i;
const NO_PROCESS = /^$|^process$|^-1$|\(-1\)$/;

/** What is drawn as groups, and the tracks that say nothing of the program: marks of the profiler, and empty ones. */
function groups(outline: TimelineOutline, roleOf: RowOptions["roleOf"]): { found: Group[]; bookkeeping: Track[] } {
  const byKey = new Map<string, Group>();
  const isEmpty = outline.tracks.every((track) => track.spans === 0);
  for (const track of outline.tracks.filter((track) => track.spans > 0 || isEmpty)) {
    const device = track.kind === "stream" ? (track.device ?? 0) : null;
    const key = device === null ? `h:${track.process}` : `d:${device}`;
    const title = device === null ? track.process || "process" : `GPU ${device}`;
    const group = byKey.get(key) ?? { key, title, device, tracks: [] };
    group.tracks.push(track);
    byKey.set(key, group);
  }
  const all = [...byKey.values()];
  const order = (track: Track) => (track.kind === "async" ? 9 : roleOrder(roleOf(track.track)));
  for (const group of all) group.tracks.sort((a, b) => order(a) - order(b) || b.spans - a.spans || a.track - b.track);
  const busiest = Math.max(1, ...all.map(weightOf));
  const isQuiet = (group: Group) => weightOf(group) < busiest * QUIET_SHARE;
  const isOwn = (group: Group) =>
    group.device === null &&
    (OWN_PROCESSES.test(group.tracks[0]!.process) || (isQuiet(group) && NO_PROCESS.test(group.tracks[0]!.process)));
  // Where there is nothing else, it is what there is to see.
  const own = all.every(isOwn) ? [] : all.filter(isOwn);
  const found = all.filter((group) => !own.includes(group));
  // Hosts first, as they launch what the devices do; those that do next to nothing come last.
  const place = (group: Group) => (isQuiet(group) ? 2 : group.device === null ? 0 : 1);
  found.sort((a, b) => place(a) - place(b) || (a.device ?? 0) - (b.device ?? 0) || weightOf(b) - weightOf(a));
  const empty = isEmpty ? [] : outline.tracks.filter((track) => track.spans === 0);
  return { found, bookkeeping: [...own.flatMap((group) => group.tracks), ...empty] };
}

function weightOf(group: Group): number {
  return group.tracks.reduce((sum, track) => sum + track.spans, 0);
}

function trackRow(
  track: Track,
  isFolded: boolean,
  isPinned: boolean,
  options: RowOptions,
  density: Density,
  smallest: number,
): TrackRow {
  const isToggled = options.toggled.has(`+${track.track}`);
  const python = options.pythonLanes(track.track);
  const first = isToggled || density.hasPython || python >= track.depth ? 0 : python;
  const subLanes = options.subLanes(track.track);
  const all = Array.from({ length: Math.max(1, track.depth - first) }, (_, place) => first + place).flatMap((depth) =>
    lanesOfDepth(depth, subLanes?.get(depth) ?? 1),
  );
  const lanes = all.slice(0, isFolded ? 1 : isToggled ? MOST_LANES : density.levels);
  const isSingle = isFlat(track) && lanes.length === 1;
  const lane = isFolded ? FOLDED_PX - 6 : isSingle ? density.single : density.lane;
  const height = isFolded ? FOLDED_PX : Math.max(smallest, lanes.length * lane + 2 * PADDING_PX);
  return {
    kind: "track",
    track,
    ...trackWords(track, options.roleOf(track.track)),
    isFolded,
    isPinned,
    isWhole: isToggled,
    first,
    lanes,
    hidden: all.length + first - lanes.length,
    lane,
    isOverlapping: (subLanes?.size ?? 0) > 0,
    y: 0,
    height,
  };
}

/** Whether spans of a track lie side by side, unless they overlap: it has room for a high lane. */
function isFlat(track: Track): boolean {
  return track.kind === "stream" || track.kind === "path";
}

/** Top of a lane inside of the rows. */
export function laneTop(row: TrackRow, lane: number): number {
  const used = row.lanes.length * row.lane;
  const top = row.isFolded
    ? 3
    : isFlat(row.track)
      ? Math.max(1, (row.height - used) / 2)
      : PADDING_PX;
  return row.y + top + row.lanes.indexOf(lane) * row.lane;
}

export function rowAt(rows: Row[], y: number): Row | undefined {
  return rows.find((row) => y >= row.y && y < row.y + row.height);
}

/** The lane of a track at a height; -1 between lanes. */
export function laneAt(row: TrackRow, y: number): number {
  return row.lanes[Math.floor((y - laneTop(row, row.lanes[0]!)) / row.lane)] ?? -1;
}

/** Whether a lane is on screen when the track is. */
export function hasLane(row: TrackRow, lane: number): boolean {
  return row.lanes.includes(lane);
}
