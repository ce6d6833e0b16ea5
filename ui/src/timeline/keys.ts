// The keys of the timeline.
import type { LaneStore } from "./lane_store";
import { entryAt } from "./lanes";
import type { Spot } from "./overlay";
import type { TimelineState } from "./state";
import { lengthOf, panBy, zoomAbout } from "./view";

const ZOOM = 1.5;
const FAST_ZOOM = 3;
const PAN = 0.2;
const FAST_PAN = 0.6;

export type TimelineActions = {
  state: TimelineState;
  cursor: () => number | undefined;
  selected: () => Spot | undefined;
  store: LaneStore;
  fit: () => void;
  mark: () => void;
  pin: () => void;
  path: () => void;
  sameName: (by: number) => void;
  match: (by: number) => void;
  select: (spanId: number) => void;
};

/** Does what a key asks for; false if it asks for nothing here. */
export function timelineKey(event: KeyboardEvent, actions: TimelineActions): boolean {
  const { state } = actions;
  const view = state.view();
  const zoom = (factor: number) => {
    const cursor = actions.cursor();
    const about = cursor !== undefined && cursor >= view.from && cursor <= view.to ? cursor : (view.from + view.to) / 2;
    state.look(zoomAbout(view, about, factor, state.bounds));
  };
  const pan = (by: number) => state.look(panBy(view, by * lengthOf(view), state.bounds));
  const isFast = event.shiftKey;
  switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
    case "w":
      zoom(isFast ? FAST_ZOOM : ZOOM);
      return true;
    case "s":
      zoom(1 / (isFast ? FAST_ZOOM : ZOOM));
      return true;
    case "a":
      pan(isFast ? -FAST_PAN : -PAN);
      return true;
    case "d":
      pan(isFast ? FAST_PAN : PAN);
      return true;
    case "f":
      actions.fit();
      return true;
    case "0":
      state.look(state.bounds, "push");
      return true;
    case "m":
      actions.mark();
      return true;
    case "p":
      actions.pin();
      return true;
    case "h":
      actions.path();
      return true;
    case ".":
    case ",":
      actions.sameName(event.key === "." ? 1 : -1);
      return true;
    case "Enter":
      actions.match(event.shiftKey ? -1 : 1);
      return true;
    case "ArrowLeft":
    case "ArrowRight":
    case "ArrowUp":
    case "ArrowDown":
      return neighbor(event.key, actions);
    default:
      return false;
  }
}

/** Selects what lies before, after, above or below the selected span. */
function neighbor(key: string, { selected, store, select }: TimelineActions): boolean {
  const spot = selected();
  const lanes = spot && store.lanes(spot.track).current;
  if (!spot || !lanes) return false;
  const place = lanes.spanId.indexOf(spot.spanId);
  if (place < 0) return false;
  const isSideways = key === "ArrowLeft" || key === "ArrowRight";
  const next = isSideways
    ? place + (key === "ArrowLeft" ? -1 : 1)
    : entryAt(lanes, Math.floor(spot.depth) + (key === "ArrowUp" ? -1 : 1), spot.start + spot.dur / 2, spot.dur / 2);
  if (next < 0 || next >= lanes.size || (isSideways && lanes.depth[next] !== spot.depth)) return true;
  select(lanes.spanId[next]!);
  return true;
}
