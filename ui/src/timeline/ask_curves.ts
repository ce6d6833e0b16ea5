// Asks for the curves below the streams: the whole recording once, and what is on screen finely where that says more.
import { createMemo } from "solid-js";
import { curves, type SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import { createAnswer } from "../state/answer";
import { rangeAround, shownCurves, type Curve } from "./curves";
import { lengthOf, type Range } from "./view";

/** Columns that a curve has across the screen; the server keeps up to four points of each. */
const COLUMNS = 400;

export type Curves = {
  /** Coarse, in the order of the server. */
  all: () => Curve[];
  /** Counters that are not among them, because there are too many. */
  countersLeftOut: () => number;
  /** What is known finely of one, near where it is looked at. */
  fine: (key: string) => Curve | undefined;
  /** Tells who listens that there is more to see. */
  changed: () => unknown;
};

/** Asked once there are lanes to see, as it is the lesser part of the picture. */
export function createCurves(
  source: SourceKey,
  outline: TimelineOutline,
  bounds: Range,
  view: () => Range,
  isReady: () => boolean,
): Curves {
  const ask = async (range: Range, columns: number, signal: AbortSignal) => {
    const [from, to] = [Math.max(bounds.from, range.from), Math.min(bounds.to, range.to)];
    const zero = outline.zero_ns;
    const answer = await curves(source, Math.floor(from + zero), Math.ceil(to + zero) + 1, columns, signal);
    return { curves: shownCurves(answer.curves, zero, { from, to }), countersLeftOut: answer.counters_left_out };
  };
  const wanted = createMemo(() => isReady());
  const [whole] = createAnswer(
    () => (wanted() ? bounds : undefined),
    // However little of it is on screen: what is, is asked for finely.
    (range, signal) => ask(range, COLUMNS, signal),
  );
  // Few points are all there are.
  const isCoarse = () => (whole.latest?.curves ?? []).some((curve) => curve.times.length > COLUMNS);
  const near = createMemo(() => (isCoarse() ? rangeAround(view()) : undefined), undefined, {
    equals: (a, b) => a?.from === b?.from && a?.to === b?.to,
  });
  const [fine] = createAnswer(near, (range, signal) => {
    const screens = lengthOf(range) / Math.min(lengthOf(view()), lengthOf(range));
    return ask(range, Math.round(COLUMNS * screens), signal);
  });
  // What is known of the part that was looked at before is as true as it was.
  const known = () => fine.latest ?? fine.former;
  return {
    all: () => whole.latest?.curves ?? [],
    countersLeftOut: () => whole.latest?.countersLeftOut ?? 0,
    fine: (key) => known()?.curves.find((curve) => curve.key === key),
    changed: known,
  };
}
