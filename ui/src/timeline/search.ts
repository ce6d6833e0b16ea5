// The search of the timeline: how many events match, where they lie, and the way from one to the next. The server keeps
// what it found, so the page never holds more than what is on screen.
import { createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { search, searchMarks, searchStep, type SearchFor, type SourceKey } from "../server/questions";
import type { LaneMarks, SearchMatch, SearchStep, SpanDetails, TimelineOutline } from "../server/types";
import { tell } from "../shell/Toast";
import { createAnswer } from "../state/answer";
import { choice, choose } from "../state/route";
import { fromZero } from "../state/session";
import { rangeAround } from "./curves";
import type { Range } from "./view";
import { viewOnMatch, walkFrom } from "./walk";

/** Letters that come faster than this are one search. */
const TYPING_MS = 120;
/** Parts of the recording in which the map counts matches. */
const MAP_COLUMNS = 2000;
const MARK_COLUMNS = 3000;

type Walked = { text: string; match: SearchMatch; place: number; count: number };

export function createSearch(
  source: SourceKey,
  outline: TimelineOutline,
  timeline: {
    bounds: Range;
    view: () => Range;
    shownView: () => Range;
    look: (view: Range) => void;
    selectedId: () => number | undefined;
    details: () => SpanDetails | undefined;
    /** Hears of a match before it is selected. */
    onWalk: (spanId: number) => void;
  },
) {
  const text = createMemo(() => (choice("q") ?? "").trim());
  const asked = createRested(text);
  const [found] = createAnswer(
    () => asked() || undefined,
    async (text, signal) => ({ text, answer: await search(source, { q: text }, MAP_COLUMNS, signal) }),
  );
  const known = () => (text() !== "" && !found.error && found.latest?.text === text() ? found.latest.answer : undefined);

  const near = createMemo(
    () => ((known()?.count ?? 0) > 0 ? { text: text(), range: rangeAround(timeline.shownView()) } : undefined),
    undefined,
    { equals: (a, b) => a?.text === b?.text && a?.range.from === b?.range.from && a?.range.to === b?.range.to },
  );
  const [marked] = createAnswer(near, async ({ text, range }, signal) => {
    const [from, to] = [Math.floor(range.from + outline.zero_ns), Math.ceil(range.to + outline.zero_ns)];
    return { text, marks: await searchMarks(source, { q: text }, { from, to, width: MARK_COLUMNS }, signal) };
  });
  // Marks of a neighboring range of the same search are right where they are.
  const marks = (): LaneMarks[] => {
    const near = marked.latest ?? marked.former;
    return near && near.text === text() ? near.marks.lanes : [];
  };

  const [walked, setWalked] = createSignal<Walked>();
  // One step after the other: a key that is held down skips nothing.
  let steps: Promise<unknown> = Promise.resolve();
  const step = (wanted: SearchFor, by: number, arrive: (step: SearchStep) => void) => {
    const go = async () => {
      const details = timeline.details();
      const selectedId = timeline.selectedId();
      const last = walked()?.match;
      const place = details && Number(details.span.span_id) === selectedId ? details.span : undefined;
      const selected =
        last && last.span_id === selectedId
          ? { start: fromZero(outline, last.start_ns), spanId: last.span_id }
          : place && { start: fromZero(outline, Number(place.start_ns)), spanId: Number(place.span_id) };
      const from = walkFrom(timeline.view(), selected);
      arrive(
        await searchStep(source, wanted, {
          from: Math.ceil(from.time + outline.zero_ns),
          span: from.spanId,
          by,
        }),
      );
    };
    steps = steps.then(go).catch((error: unknown) => tell(error instanceof Error ? error.message : String(error)));
  };

  function show(match: SearchMatch, history: "push" | "replace"): void {
    const start = fromZero(outline, match.start_ns);
    timeline.onWalk(match.span_id);
    choose({ sel: String(match.span_id), from: undefined, to: undefined }, history);
    const next = viewOnMatch(timeline.view(), { from: start, to: start + match.dur_ns }, timeline.bounds);
    if (next !== timeline.view()) timeline.look(next);
  }

  /** Selects the next match, or the one before. */
  function goToMatch(by: number): void {
    const wanted = text();
    if (wanted === "") return;
    step({ q: wanted }, by, ({ found, place, count }) => {
      if (!found || text() !== wanted) return;
      // A walk is one entry of the history, however long it is.
      const isWalking = walked()?.text === wanted && walked()?.match.span_id === timeline.selectedId();
      setWalked({ text: wanted, match: found, place, count });
      show(found, isWalking ? "replace" : "push");
    });
  }

  /** Selects the event before or after the selected one that has the same name. */
  function goToSameName(by: number): void {
    const details = timeline.details();
    if (!details) return;
    const own = Number(details.span.start_ns);
    step({ name: String(details.span.name), kind: String(details.span.kind) }, by, ({ found }) => {
      const isBeyond = found && (by > 0 ? found.start_ns < own : found.start_ns > own);
      if (!found || isBeyond || found.span_id === Number(details.span.span_id))
        tell(by > 0 ? "No later event of this name" : "No earlier event of this name");
      else {
        setWalked({ text: "", match: found, place: 0, count: 0 });
        show(found, "push");
      }
    });
  }

  return {
    text,
    /** Undefined while it is not known. */
    count: (): number | undefined => known()?.count,
    hasFailed: (): boolean => text() !== "" && Boolean(found.error),
    /** Matches that start in each of equal parts of the recording. */
    density: (): number[] => known()?.density ?? [],
    marks,
    /** The match that the walk selected last; its place on screen is known before everything else about it. */
    walked: () => (walked()?.match.span_id === timeline.selectedId() ? walked() : undefined),
    /** The place of the selected match, if the walk led there. */
    place: () => {
      const [last, id] = [walked(), timeline.selectedId()];
      return last && last.text === text() && last.match.span_id === id ? last.place : undefined;
    },
    /** When the match that is on its way, if one is, has been selected. */
    arrived: () => steps,
    goToMatch,
    goToSameName,
  };
}

export type TimelineSearch = ReturnType<typeof createSearch>;

/** A text that follows another when it has rested. */
function createRested(text: () => string): () => string {
  const [rested, setRested] = createSignal(text());
  createEffect(
    on(
      text,
      (now) => {
        const timer = setTimeout(() => setRested(now), TYPING_MS);
        onCleanup(() => clearTimeout(timer));
      },
      { defer: true },
    ),
  );
  return rested;
}
