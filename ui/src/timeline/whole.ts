// The whole recording at a glance: how busy the devices are, and when data is loaded. One answer serves the overview,
// the map of the timeline, and the lanes until they know more.
import type { SourceKey } from "../server/questions";
import type { TimelineOutline, Track } from "../server/types";
import { createAnswer } from "../state/answer";
import { fromZero, sourceKey, timelineOutline } from "../state/session";
import { askLanes } from "./ask_lanes";
import { busyShares, type Lanes } from "./lanes";
import type { Range } from "./view";

const WHOLE_WIDTH = 1200;

/** Share of time in equal parts of the recording: devices (or the busiest thread) at work, and data being loaded. */
export type Whole = { from: number; to: number; isDevice: boolean; busy: Float64Array; loading: Float64Array };

let known: { source: string; lanes: Map<number, Promise<Lanes>> } = { source: "", lanes: new Map() };

/** The events of a track over the whole recording, asked once. */
export function wholeLanes(key: SourceKey, track: number, zero: number, bounds: Range): Promise<Lanes> {
  const source = JSON.stringify([key, zero, bounds]);
  if (known.source !== source) known = { source, lanes: new Map() };
  const { lanes } = known;
  const found = lanes.get(track) ?? askLanes(key, track, zero, bounds.from, bounds.to, WHOLE_WIDTH);
  lanes.set(track, found);
  found.catch(() => lanes.delete(track));
  return found;
}

export function createWhole() {
  const question = () => {
    const [key, outline] = [sourceKey(), timelineOutline()];
    return key && outline ? { key, outline } : undefined;
  };
  return createAnswer(question, ({ key, outline }) => askWhole(key, outline))[0];
}

async function askWhole(key: SourceKey, outline: TimelineOutline): Promise<Whole> {
  const bounds = { from: fromZero(outline, outline.start_ns), to: fromZero(outline, outline.end_ns) };
  const ask = (track: Track) => wholeLanes(key, track.track, outline.zero_ns, bounds);
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
