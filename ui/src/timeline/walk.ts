// The way from match to match: where a step begins, what it shows, and what is said of it.
import { count } from "../format/number";
import { clamp, lengthOf, type Range } from "./view";

/** A match narrower than this part of the screen is a dot; it is shown with so many times its length around it. */
const DOT = 1 / 300;
const AROUND_DOT = 30;
const LEAST_AROUND_NS = 10_000;

/** Where the walk goes on: behind the selected event if that starts on screen, else at the left edge of the view. */
export function walkFrom(
  view: Range,
  selected: { start: number; spanId: number } | undefined,
): { time: number; spanId: number | undefined } {
  const isOnScreen = selected !== undefined && selected.start >= view.from && selected.start <= view.to;
  return isOnScreen ? { time: selected.start, spanId: selected.spanId } : { time: view.from, spanId: undefined };
}

/** A view that shows a match: the same if the match is whole in it and more than a dot, else moved or zoomed to it. */
export function viewOnMatch(view: Range, match: Range, bounds: Range): Range {
  const length = lengthOf(match);
  const isDot = length < lengthOf(view) * DOT;
  if (!isDot && match.from >= view.from && match.to <= view.to) return view;
  const wanted = isDot
    ? Math.min(lengthOf(view), Math.max(length * AROUND_DOT, LEAST_AROUND_NS))
    : Math.max(lengthOf(view), length * 1.2);
  const middle = (match.from + match.to) / 2;
  return clamp({ from: middle - wanted / 2, to: middle + wanted / 2 }, bounds);
}

/** `424 of 1,266 matches`, or how many there are while none of them is selected. */
export function matchWords(place: number | undefined, all: number | undefined, hasFailed = false): string {
  if (hasFailed) return "Search failed";
  if (all === undefined) return "Searching";
  if (all === 0) return "No matches";
  const matches = all === 1 ? "match" : "matches";
  return place === undefined ? `${count(all)} ${matches}` : `${count(place)} of ${count(all)} ${matches}`;
}
