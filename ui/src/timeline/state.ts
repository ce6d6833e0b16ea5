// What is looked at in the timeline: the view, the selection, the search; all of it follows the address.
import { createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { ServerError } from "../server/client";
import { span, type SourceKey } from "../server/questions";
import type { SearchMatch, SpanDetails, SpanRow, TimelineOutline } from "../server/types";
import { createAnswer } from "../state/answer";
import { choice, choose } from "../state/route";
import { chosenRange, chosenSteps, fromZero } from "../state/session";
import type { LaneStore } from "./lane_store";
import { parseMarks, toggled, writeMarks } from "./marks";
import type { Arrow, Spot } from "./overlay";
import { PATH_SHOWN } from "./path";
import type { RulerStep } from "./ruler";
import type { ColorBy } from "./scene";
import { createSearch } from "./search";
import { clamp, fitted, lengthOf, parseView, typicalStep, writeView, type Range } from "./view";

/** Panning changes the choices when the hand rests. */
const REST_MS = 100;

/** Steps of a walk that come faster than this are on their way to another match. */
const WALKING_MS = 100;

const ARROW_KINDS = ["launch", "forward", "off"] as const;
export type ArrowKind = (typeof ARROW_KINDS)[number];

/** The bounds are those of the recording, unless there are other ranks on the axis. */
export function createTimelineState(source: SourceKey, outline: TimelineOutline, wider?: Range) {
  const recording: Range = { from: fromZero(outline, outline.start_ns), to: fromZero(outline, outline.end_ns) };
  const bounds = wider ?? recording;
  const steps: RulerStep[] = outline.steps.map((step) => ({
    name: step.name,
    from: fromZero(outline, step.start_ns),
    to: fromZero(outline, step.end_ns),
    isComplete: step.complete,
  }));
  const [view, setView] = createSignal<Range>(wantedView());
  const shownView = createPerFrame(view);
  const arrowKind = createMemo((): ArrowKind => ARROW_KINDS.find((kind) => kind === choice("arrows")) ?? "launch");
  const marks = createMemo(() => parseMarks(choice("marks")));

  /** The view that the address asks for; else the chosen steps, else a typical step. */
  function wantedView(): Range {
    const asked = parseView(choice("view"));
    if (asked) return clamp(asked, bounds);
    const range = chosenRange();
    if (range) return fitted(range, bounds, 0.4);
    const chosen = chosenSteps();
    const whole = chosen && { from: steps[chosen.first]?.from ?? bounds.from, to: steps[chosen.last]?.to ?? bounds.to };
    return fitted(whole ?? typicalStep(steps) ?? bounds, bounds);
  }

  let written = choice("view");
  let timer = 0;
  onCleanup(() => clearTimeout(timer));
  function look(next: Range, history: "push" | "replace" = "replace"): void {
    setView(clamp(next, bounds));
    clearTimeout(timer);
    const write = () => {
      written = writeView(view());
      choose({ view: written }, history);
    };
    if (history === "push") write();
    else timer = window.setTimeout(write, REST_MS);
  }
  createEffect(
    on(
      [() => choice("view"), () => choice("steps")],
      ([asked]) => {
        if (asked !== written || asked === undefined) setView(wantedView());
        written = asked;
      },
      { defer: true },
    ),
  );

  const selectedId = createMemo(() => {
    const id = Number(choice("sel"));
    return choice("sel") !== undefined && Number.isInteger(id) ? id : undefined;
  });
  let walkedId: number | undefined;
  const [details] = createAnswer(selectedId, async (id, signal) => {
    // Whoever walks through matches sees where each is; the rest is asked for when the walk rests.
    if (id === walkedId) {
      await new Promise((rested) => setTimeout(rested, WALKING_MS));
      await search.arrived();
    }
    return span(source, id, signal);
  });
  const knownDetails = (): SpanDetails | undefined => details.latest;
  const search = createSearch(source, outline, {
    bounds,
    view,
    shownView,
    look,
    selectedId,
    details: knownDetails,
    onWalk: (id) => (walkedId = id),
  });

  return {
    bounds,
    recording,
    steps,
    view,
    /** The view as it was at the last frame, for what need not follow every input. */
    shownView,
    look,
    arrowKind,
    setArrowKind: (kind: ArrowKind) => choose({ arrows: kind === "launch" ? undefined : kind }),
    /** Colors are those of classes, or vary by name inside of them. */
    colorBy: (): ColorBy => (choice("color") === "name" ? "name" : "class"),
    setColorBy: (by: ColorBy) => choose({ color: by === "class" ? undefined : by }),
    /** Whether the critical path is shown; it is that of one rank. */
    isPathShown: (): boolean => !wider && choice("path") !== undefined,
    togglePath: () => choose({ path: choice("path") === undefined ? PATH_SHOWN : undefined }),
    marks,
    toggleMark: (range: Range) => choose({ marks: writeMarks(toggled(marks(), range)) || undefined }),
    selectedId,
    details: knownDetails,
    /** What was selected before, while what is selected now is on its way: holds the place of its pane. */
    formerDetails: (): SpanDetails | undefined => details.former,
    /** Whether the address selects a span that is not there. */
    isSelectionUnknown: (): boolean => details.error instanceof ServerError && details.error.status === 404,
    search,
  };
}

/** A value that changes at most once a frame. */
function createPerFrame<T>(value: () => T): () => T {
  const [shown, setShown] = createSignal(value());
  let frame = 0;
  createEffect(
    on(
      value,
      () => {
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          setShown(value);
        });
      },
      { defer: true },
    ),
  );
  onCleanup(() => cancelAnimationFrame(frame));
  return shown;
}

export type TimelineState = ReturnType<typeof createTimelineState>;

/** Where a row of `spans` lies; the lane comes from what is drawn, as lanes are not depths. */
export function spotOf(row: SpanRow, outline: TimelineOutline, store: LaneStore): Spot {
  const [track, spanId] = [Number(row.track_id), Number(row.span_id)];
  const spot = { track, spanId, start: fromZero(outline, Number(row.start_ns)), dur: Number(row.dur_ns) };
  return { ...spot, depth: laneOf(store, track, spanId, spot.start) ?? Number(row.depth ?? 0) };
}

/** Where a match lies, before anything else is known of it. */
export function spotOfMatch(match: SearchMatch, outline: TimelineOutline, store: LaneStore): Spot {
  const spot = { track: match.track, spanId: match.span_id, start: fromZero(outline, match.start_ns), dur: match.dur_ns };
  return { ...spot, depth: laneOf(store, spot.track, spot.spanId, spot.start) ?? match.depth };
}

export function laneOf(store: LaneStore, track: number, spanId: number, start: number): number | undefined {
  const { current, whole } = store.lanes(track);
  for (const lanes of [current, whole]) {
    if (!lanes || start < lanes.from || start > lanes.to) continue;
    const place = lanes.spanId.indexOf(spanId);
    if (place >= 0) return lanes.depth[place];
  }
  return undefined;
}

const MOST_ARROWS = 24;

/** What the selection is connected to: its launch, its kernels, or its forward operator. */
export function arrowsOf(
  details: SpanDetails | undefined,
  kind: ArrowKind,
  outline: TimelineOutline,
  store: LaneStore,
): Arrow[] {
  if (!details || kind === "off") return [];
  const spot = (row: SpanRow) => spotOf(row, outline, store);
  const own = spot(details.span);
  if (kind === "forward") return details.forward ? [{ from: spot(details.forward), to: own }] : [];
  if (details.launch) return [{ from: spot(details.launch), to: own }];
  return details.kernels.slice(0, MOST_ARROWS).map((kernel) => ({ from: own, to: spot(kernel) }));
}

/** A view that shows a span: the same if some of it is on screen, else moved to it, and closer if it would be a dot. */
export function viewOn(view: Range, span: Range, bounds: Range): Range {
  if (span.to >= view.from && span.from <= view.to) return view;
  const isDot = lengthOf(span) < lengthOf(view) / 300;
  const length = isDot ? Math.max(lengthOf(span) * 30, 1000) : Math.max(lengthOf(view), lengthOf(span) * 1.2);
  const middle = (span.from + span.to) / 2;
  return clamp({ from: middle - length / 2, to: middle + length / 2 }, bounds);
}
