// What is known of each track: the whole recording coarsely, and the range on screen finely. Asks for more when the
// view moves, and gives up questions that the view has left behind.
import { isAborted } from "../server/client";
import type { SourceKey } from "../server/questions";
import { askLanes } from "./ask_lanes";
import type { Lanes } from "./lanes";
import { wholeLanes } from "./whole";
import { lengthOf, type Range } from "./view";

/** More on each side than is seen, so that a small pan needs nothing new. */
const AHEAD = 0.5;
/** A pixel on screen may show at most so many pixels of what was asked for, and at least a part of one. */
const COARSEST = 1.3;
const FINEST = 0.2;
/** Asks when the view has rested for so long, and in a longer move so often. */
const REST_MS = 60;
const MOVING_MS = 240;

/** Where the events of a track come from: times on the axis are those of the server less `zero`. */
export type Home = { source: SourceKey; track: number; zero: number; bounds: Range };

type Known = { whole?: Lanes; current?: Lanes; asked?: { range: Range; width: number; stop: AbortController } };

export class LaneStore {
  private readonly known = new Map<number, Known>();
  private timer = 0;
  /** When the view began to move. */
  private since: number | undefined;
  private wanted: { tracks: number[]; view: Range; width: number } | undefined;

  constructor(
    private readonly homeOf: (track: number) => Home,
    private readonly onChange: (track: number) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  lanes(track: number): { whole?: Lanes; current?: Lanes } {
    return this.known.get(track) ?? {};
  }

  /** Says what is on screen now. */
  look(tracks: number[], view: Range, width: number): void {
    this.wanted = { tracks, view, width };
    this.dropStale();
    const now = performance.now();
    this.since ??= now;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.settle(), Math.min(REST_MS, this.since + MOVING_MS - now));
  }

  close(): void {
    clearTimeout(this.timer);
    for (const { asked } of this.known.values()) asked?.stop.abort();
    this.known.clear();
  }

  private settle(): void {
    this.since = undefined;
    const { wanted } = this;
    if (!wanted) return;
    for (const track of wanted.tracks) {
      const known = this.known.get(track) ?? {};
      this.known.set(track, known);
      const { bounds } = this.homeOf(track);
      if (known.asked || serves(known.current, wanted.view, wanted.width, bounds)) continue;
      const ahead = lengthOf(wanted.view) * AHEAD;
      const near = {
        from: Math.max(bounds.from, wanted.view.from - ahead),
        to: Math.min(bounds.to, wanted.view.to + ahead),
      };
      if (!(near.to > near.from)) continue;
      if (!known.whole) void this.ask(track, known, { range: bounds, width: wanted.width });
      else
        void this.ask(track, known, {
          range: near,
          width: Math.round((wanted.width * lengthOf(near)) / lengthOf(wanted.view)),
        });
    }
  }

  private async ask(track: number, known: Known, what: { range: Range; width: number }): Promise<void> {
    const asked = { ...what, stop: new AbortController() };
    known.asked = asked;
    const home = this.homeOf(track);
    try {
      const lanes = known.whole
        ? await askLanes(home.source, home.track, home.zero, what.range.from, what.range.to, what.width, asked.stop.signal)
        : await wholeLanes(home.source, home.track, home.zero, home.bounds);
      if (known.whole) known.current = lanes;
      else known.whole = known.current = lanes;
      this.onChange(track);
    } catch (error) {
      if (!isAborted(error)) this.onError(error);
    } finally {
      if (known.asked === asked) known.asked = undefined;
    }
    if (this.wanted) this.look(this.wanted.tracks, this.wanted.view, this.wanted.width);
  }

  /** Gives up what would not serve the view any more. The whole recording is always worth having. */
  private dropStale(): void {
    const { wanted } = this;
    if (!wanted) return;
    for (const [track, known] of this.known) {
      const { asked } = known;
      if (
        !asked ||
        !known.whole ||
        serves({ ...asked.range, width: asked.width }, wanted.view, wanted.width, this.homeOf(track).bounds)
      )
        continue;
      asked.stop.abort();
      known.asked = undefined;
    }
  }
}

/** Whether an answer covers what is seen of the recording, and is neither too coarse nor too fine for it. */
function serves(
  lanes: (Range & { width: number; isExact?: boolean }) | undefined,
  view: Range,
  width: number,
  bounds: Range,
): boolean {
  if (!lanes) return false;
  const covers = lanes.from <= Math.max(view.from, bounds.from) && lanes.to >= Math.min(view.to, bounds.to);
  const pixels = lengthOf(lanes) / lanes.width / (lengthOf(view) / width);
  return covers && pixels >= FINEST && (pixels <= COARSEST || lanes.isExact === true);
}
