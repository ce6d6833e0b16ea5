// From a finding to its worst instance in the timeline: selected, with some room, and what happened in it below.
import { ServerError } from "../server/client";
import { sql, worstInstance, type SourceKey } from "../server/questions";
import type { PointNs, TimelineOutline, WorstInstance } from "../server/types";
import { tables } from "../report/table";
import { tell } from "../shell/Toast";
import { goTo, type Choices } from "../state/route";
import { chosenRange, chosenSteps, source, sourceKey, timelineOutline } from "../state/session";
import { fitted, writeView } from "../timeline/view";

/** Room beside an instance, as a share of its length. */
const AIR = 0.4;

/** What the address says so that the timeline shows an instance. */
export function choicesFor(worst: WorstInstance, outline: TimelineOutline): Choices {
  const from = worst.start_ns - outline.zero_ns;
  const range = { from, to: from + Math.max(1, worst.dur_ns) };
  const bounds = { from: outline.start_ns - outline.zero_ns, to: outline.end_ns - outline.zero_ns };
  return {
    from: String(range.from),
    to: String(range.to),
    sel: worst.span_id === null ? undefined : String(worst.span_id),
    view: writeView(fitted(range, bounds, AIR)),
  };
}

/** Shows the longest event of a name; where no event has it, what holds it. */
export async function showLongest(name: string): Promise<void> {
  const [key, outline, first] = [sourceKey(), timelineOutline(), source()?.first_ns];
  if (!key || !outline) return;
  try {
    const report = await sql(key.run, longestStatement(name, key, first ?? 0), 1);
    const [spanId, start, dur] = tables(report)[0]?.rows[0]?.map(Number) ?? [];
    if (spanId === undefined || start === undefined || dur === undefined) goTo("timeline", { q: name });
    else {
      const longest = { rank: key.rank, window: key.window, span_id: spanId, start_ns: start, dur_ns: dur };
      goTo("timeline", { q: name, ...choicesFor(longest, outline) });
    }
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  }
}

/** The longest event of a name, its start counted from the first event. */
export function longestStatement(name: string, key: SourceKey, first: PointNs | number): string {
  return `SELECT span_id, start_ns - ${first} AS start_ns, dur_ns FROM spans
WHERE rank = ${key.rank} AND "window" = ${key.window} AND name = '${name.replaceAll("'", "''")}'
ORDER BY dur_ns DESC, span_id LIMIT 1`;
}

export async function showWorst(rule: string): Promise<void> {
  const [key, outline] = [sourceKey(), timelineOutline()];
  if (!key || !outline) return;
  const range = chosenRange();
  const steps = chosenSteps();
  const [first, last] = [outline.steps[steps?.first ?? -1], outline.steps[steps?.last ?? -1]];
  const from = range ? range.from + outline.zero_ns : first?.start_ns;
  const to = range ? range.to + outline.zero_ns : last?.end_ns;
  try {
    const worst = await worstInstance(key, rule, from, to);
    goTo("timeline", choicesFor(worst, outline));
  } catch (error) {
    const isNowhere = error instanceof ServerError && error.status === 404;
    if (isNowhere) tell("No event in this trace matches");
    else tell(error instanceof Error ? error.message : String(error));
  }
}
