// The whole recording at a glance: how busy the devices are, and when data is loaded. One answer serves the overview,
// the map of the timeline, and the lanes until they know more.
import type { SourceKey } from "../server/questions";
import type { TimelineOutline, Track } from "../server/types";
import { createAnswer } from "../state/answer";
import { sourceKey, timelineOutline } from "../state/session";
import { askLanes } from "./ask_lanes";
import { busyShares, type Lanes } from "./lanes";
import type { Range } from "./view";

const WHOLE_WIDTH = 1200;

/** Share of time in equal parts of the recording: devices (or the busiest thread) at work, and data being loaded. */
export type Whole = { from: number; to: number; isDevice: boolean; busy: Float64Array; loading: Float64Array };

/** Recordings whose lanes are kept: those of several ranks at once. */
const MOST_SOURCES = 20;
const known = new Map<string, Map<number, Promise<Lanes>>>();

/** The events of a track over the whole recording, asked once. */
export function wholeLanes(key: SourceKey, track: number, zero: number, bounds: Range): Promise<Lanes> {
  const source = JSON.stringify([key, zero, bounds]);
  const lanes = known.get(source) ?? new Map<number, Promise<Lanes>>();
  // The one that was asked for last is the last.
  known.delete(source);
  known.set(source, lanes);
  const oldest = known.keys().next();
  if (known.size > MOST_SOURCES && !oldest.done) known.delete(oldest.value);
  const found = lanes.get(track) ?? askLanes(key, track, zero, bounds.from, bounds.to, WHOLE_WIDTH);
  lanes.set(track, found);
  found.catch(() => lanes.delete(track));
  return found;
}

/** One recording on an axis: times there are those of the server less `zero`. */
export type OnAxis = { source: SourceKey; outline: TimelineOutline; zero: number };

/** Of the chosen recording, or of several ranks the mean. */
export function createWhole(several?: { ranks: OnAxis[]; bounds: Range }) {
  const question = () => {
    const [key, outline] = [sourceKey(), timelineOutline()];
    return key && outline ? { key, outline } : undefined;
  };
  return createAnswer(question, ({ key, outline }) =>
    several ? askMean(several.ranks, several.bounds) : askWhole({ source: key, outline, zero: outline.zero_ns }),
  )[0];
}

/** Every rank counts alike; where one has no recording it is not busy. */
async function askMean(ranks: OnAxis[], bounds: Range): Promise<Whole> {
  const all = await Promise.all(ranks.map((rank) => askWhole(rank)));
  const bins = WHOLE_WIDTH / 2;
  const mean = (values: (whole: Whole) => Float64Array) => {
    const sum = new Float64Array(bins);
    for (const whole of all) {
      for (let bin = 0; bin < bins; bin++) {
        const time = bounds.from + ((bin + 0.5) / bins) * (bounds.to - bounds.from);
        const place = Math.floor(((time - whole.from) / (whole.to - whole.from)) * bins);
        sum[bin]! += (values(whole)[place] ?? 0) / all.length;
      }
    }
    return sum;
  };
  const isDevice = all.some((whole) => whole.isDevice);
  return { ...bounds, isDevice, busy: mean((whole) => whole.busy), loading: mean((whole) => whole.loading) };
}

async function askWhole({ source, outline, zero }: OnAxis): Promise<Whole> {
  const bounds = { from: outline.start_ns - zero, to: outline.end_ns - zero };
  const ask = (track: Track) => wholeLanes(source, track.track, zero, bounds);
  const streams = outline.tracks.filter((track) => track.kind === "stream").sort((a, b) => b.spans - a.spans);
  const threads = outline.tracks.filter((track) => track.kind === "thread").sort((a, b) => b.spans - a.spans);
  const isDevice = streams.length > 0;
  // A recording without devices shows how busy its busiest thread is.
  const [busy, host] = await Promise.all([
    Promise.all((isDevice ? streams.slice(0, 4) : threads.slice(0, 1)).map(ask)),
    Promise.all(threads.slice(0, 2).map(ask)),
  ]);
  const isWork = (name: string) => name !== "annotation" && name !== "python" && name !== "other";
  const bins = WHOLE_WIDTH / 2;
  return {
    ...bounds,
    isDevice,
    busy: added(busy, (lanes) => busyShares(lanes, bounds.from, bounds.to, bins, isWork)),
    loading: added(host, (lanes) => busyShares(lanes, bounds.from, bounds.to, bins, (name) => name === "dataloader")),
  };
}

function added(all: Lanes[], share: (lanes: Lanes) => Float64Array): Float64Array {
  const sum = new Float64Array(WHOLE_WIDTH / 2);
  for (const lanes of all) share(lanes).forEach((value, at) => (sum[at] = Math.min(1, sum[at]! + value)));
  return sum;
}
