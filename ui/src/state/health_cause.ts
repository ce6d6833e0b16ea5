// Why a recording has the health it has: the one thing that matters most, in a sentence.
import { count, figureText, numberOf } from "../format/number";
import { said, say, words } from "../format/say";
import type { Cell, Grade, Sentence } from "../server/types";

/** The cause in a few words for a badge, and in a sentence. */
export type HealthCause = { short?: string; sentence: Sentence };

export type HealthFigure = { name: string; value: Cell; reason: Cell; meaning: string };

/** Below this share of device time, figures by operator are doubtful; the grade of a recording draws the same line. */
export const ENOUGH = 0.95;

/** The cause in a few words for a badge, and in a sentence. What is worst for the figures comes first. */
export function healthCause(figures: HealthFigure[], grade: Grade | null): HealthCause {
  const number = (name: string) => numberOf(figures.find((figure) => figure.name === name)?.value ?? null) ?? 0;
  const lost = number("lost_events");
  const events = (value: number) => say`${said("plain", value)} ${value === 1 ? "event" : "events"}`;
  const share = explainedShare(number);
  if (number("lost.cut_event") > 0)
    return {
      short: "file cut off",
      sentence: say`The file ends early: ${events(lost)} ${lost === 1 ? "is" : "are"} lost. Metrics cover what was read.`,
    };
  if (share !== undefined && share < ENOUGH) {
    const [unlinked, all] = [number("unlinked_device_events"), number("device_events")];
    const why =
      unlinked > 0
        ? say`: ${said("plain", unlinked)} of ${said("plain", all)} device events have no recorded launch`
        : [];
    return {
      short: `${figureText("ratio", 1 - share)} without operator`,
      sentence: say`Only ${said("ratio", share)} of device time belongs to an operator${why}.`,
    };
  }
  if (lost > 0)
    return {
      short: `${count(lost)} lost`,
      sentence: say`${events(lost)} could not be read or kept, so sums are too small.`,
    };
  if (grade !== "good") return { sentence: words("Part of the job was not recorded.") };
  const incomplete = number("incomplete_steps");
  const left =
    incomplete > 0
      ? say`. Averages exclude ${said("plain", incomplete)} incomplete ${incomplete === 1 ? "step" : "steps"}`
      : [];
  const linked = share === undefined ? [] : say` and ${said("ratio", share)} of device time belongs to an operator`;
  return { sentence: say`No event is lost${linked}${left}.` };
}

/** The share of device time whose operator or graph is known; undefined without device work. */
export function explainedShare(number: (name: string) => number): number | undefined {
  const all = number("device_time_ns");
  return all === 0 ? undefined : (number("device_time_with_operator_ns") + number("graph_device_time_ns")) / all;
}
