// From event to event: through the matches of a search, and through events of the same name.
import { createEffect, on } from "solid-js";
import { search, type SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import { tell } from "../shell/Toast";
import { choose } from "../state/route";
import { fromZero } from "../state/session";
import type { TimelineState } from "./state";

export function createWalk(source: SourceKey, outline: TimelineOutline, state: TimelineState) {
  let matchPlace = -1;
  createEffect(
    on(
      () => state.matches(),
      () => (matchPlace = -1),
    ),
  );
  function goToMatch(by: number): void {
    const all = state.matches();
    if (all.length === 0) return;
    const order = [...all.keys()].sort((a, b) => state.matchStarts()[a]! - state.matchStarts()[b]!);
    const first =
      matchPlace < 0
        ? order.findIndex((place) => state.matchStarts()[place]! >= state.view().from) - (by > 0 ? 1 : 0)
        : matchPlace;
    matchPlace = (first + by + order.length) % order.length;
    choose({ sel: String(all[order[matchPlace]!]!.span_id) });
  }

  /** The event before or after the selected one that has the same name. */
  async function sameName(by: number): Promise<void> {
    const details = state.details();
    if (!details) return;
    const name = String(details.span.name);
    const found = await search(source, name, new AbortController().signal);
    const own = fromZero(outline, Number(details.span.start_ns));
    const starts = found.matches
      .filter((match) => match.name === name)
      .map((match) => ({ id: match.span_id, start: fromZero(outline, match.start_ns) }))
      .sort((a, b) => a.start - b.start);
    const next = by > 0 ? starts.find((match) => match.start > own) : starts.findLast((match) => match.start < own);
    if (next) choose({ sel: String(next.id) });
    else tell(by > 0 ? "No later event of this name" : "No earlier event of this name");
  }

  return { goToMatch, sameName };
}
