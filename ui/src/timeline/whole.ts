// The whole recording at a glance: how busy the devices are, and when data is loaded. One answer serves the overview
// and the map of the timeline.
import { sourceKey, timelineOutline, fromZero } from "../state/session";
import type { SourceKey } from "../server/questions";
import type { TimelineOutline, Track } from "../server/types";
import { createAnswer } from "../shell/Answer";
import { askLanes, busyShares, type Lanes } from "./lanes";

export const WHOLE_WIDTH = 1200;

export type Whole = { from: number; to: number; busy: Float64Array; loading: Float64Array };

let last: { key: string; whole: Promise<Whole> } | undefined;

export function createWhole() {
  const question = () => {
    const [key, outline] = [sourceKey(), timelineOutline()];
    return key && outline ? { key, outline } : undefined;
  };
  return createAnswer(question, ({ key, outline }) => {
    const text = `${JSON.stringify(key)}${outline.start_ns}`;
    if (last?.key !== text) last = { key: text, whole: askWhole(key, outline) };
    return last.whole;
  })[0];
}

async function askWhole(key: SourceKey, outline: TimelineOutline): Promise<Whole> {
  const [from, to] = [fromZero(outline, outline.start_ns), fromZero(outline, outline.end_ns)];
  const ask = (track: Track) => askLanes(key, track.track, outline.zero_ns, from, to, WHOLE_WIDTH);
  const streams = outline.tracks.filter((track) => track.kind === "stream").sort((a, b) => b.spans - a.spans);
  const threads = outline.tracks.filter((track) => track.kind === "thread").sort((a, b) => b.spans - a.spans);
  const isDevice = streams.length > 0;
  // A recording without devices shows how busy its busiest thread is.
  const busyTracks = isDevice ? streams.slice(0, 4) : threads.slice(0, 1);
  const [busy, host] = await Promise.all([Promise.all(busyTracks.map(ask)), Promise.all(threads.slice(0, 2).map(ask))]);
  return {
    from,
    to,
    busy: added(busy, (lanes) => busyShares(lanes, from, to, WHOLE_WIDTH / 2, (name, depth) => (isDevice ? name !== "annotation" : depth === 0))),
    loading: added(host, (lanes) => busyShares(lanes, from, to, WHOLE_WIDTH / 2, (name) => name === "dataloader")),
  };
}

function added(all: Lanes[], share: (lanes: Lanes) => Float64Array): Float64Array {
  const sum = new Float64Array(WHOLE_WIDTH / 2);
  for (const lanes of all) share(lanes).forEach((value, at) => (sum[at] = Math.min(1, sum[at]! + value)));
  return sum;
}
