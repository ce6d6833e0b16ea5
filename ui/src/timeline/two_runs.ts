// Two runs on one axis: which tracks of each are shown, and where their events come from. Both begin at 0 with the step
// that they are aligned by.
import { PATH_TRACK, type SourceKey } from "../server/questions";
import type { TimelineOutline, Track } from "../server/types";
import type { Home } from "./lane_store";
import { pathTrack } from "./path";
import { deviceTracks } from "./ranks";
import type { RankLanes } from "./rows";
import type { RulerStep } from "./ruler";
import type { Range } from "./view";

/** One of the runs; `zero` is the start of the step that it is aligned by, as the server counts. */
export type RunOnAxis = { title: string; note: string; source: SourceKey; outline: TimelineOutline; zero: number };

export type TwoRuns = {
  groups: RankLanes[];
  /** By the number that a track has on the board. */
  homes: Home[];
  /** The run of each track on the board. */
  runs: RunOnAxis[];
  /** Steps of each group. */
  steps: RulerStep[][];
  bounds: Range;
  /** Tracks that are folded at first: threads, which have many lanes. */
  folded: string[];
};

const MOST_THREADS = 2;
/** Threads with fewer spans than this share of the busiest are left out. */
const QUIET_SHARE = 0.01;

export function twoRuns(sides: RunOnAxis[]): TwoRuns {
  const found: TwoRuns = { groups: [], homes: [], runs: [], steps: [], bounds: { from: 0, to: 0 }, folded: [] };
  sides.forEach((side, rank) => {
    const { source, outline, zero } = side;
    const bounds = { from: outline.start_ns - zero, to: outline.end_ns - zero };
    const tracks = shownTracks(outline).map((track): Track => {
      const number = found.homes.length;
      found.homes.push({ source, track: track.track, zero, bounds });
      found.runs.push(side);
      if (track.kind === "thread") found.folded.push(String(number));
      return { ...track, track: number };
    });
    found.groups.push({ rank, title: side.title, note: side.note, tracks });
    found.steps.push(
      outline.steps.map((step) => ({
        name: step.name,
        from: step.start_ns - zero,
        to: step.end_ns - zero,
        isComplete: step.complete,
      })),
    );
  });
  const all = found.homes.map((home) => home.bounds);
  found.bounds = {
    from: Math.min(0, ...all.map((bounds) => bounds.from)),
    to: Math.max(1, ...all.map((bounds) => bounds.to)),
  };
  return found;
}

/** The critical path, the streams, and the busiest threads. */
function shownTracks(outline: TimelineOutline): Track[] {
  const threads = outline.tracks.filter((track) => track.kind === "thread").sort((a, b) => b.spans - a.spans);
  const busiest = threads[0]?.spans ?? 0;
  const busy = threads.filter((track) => track.spans > busiest * QUIET_SHARE).slice(0, MOST_THREADS);
  const devices = deviceTracks(outline).filter((track) => track.kind === "stream");
  return [{ ...pathTrack, track: PATH_TRACK }, ...devices, ...busy];
}
