// What makes figures of the chosen recording doubtful, where its health is not good.
import { createRoot } from "solid-js";
import { numberOf } from "../format/number";
import { said, say } from "../format/say";
import { analysis } from "../server/questions";
import type { Report, Sentence } from "../server/types";
import { createAnswer } from "./answer";
import { ENOUGH, explainedShare, healthCause, type HealthCause, type HealthFigure } from "./health_cause";
import { source, sourceKey } from "./session";

export type { HealthFigure };

/** The rows of the health report for one recording. */
export function healthFigures(report: Report, rank: number, window: number): HealthFigure[] {
  const table = report.parts.find((part) => part.kind === "table");
  if (table?.kind !== "table") return [];
  const place = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [ofRank, ofWindow, figure, value, reason, meaning] = [
    "rank",
    "window",
    "figure",
    "value",
    "reason",
    "meaning",
  ].map(place);
  return table.rows
    .filter((row) => (ofRank! < 0 || row[ofRank!] === rank) && (ofWindow! < 0 || row[ofWindow!] === window))
    .map((row) => ({
      name: String(row[figure!]),
      value: row[value!] ?? null,
      reason: row[reason!] ?? null,
      meaning: String(row[meaning!] ?? ""),
    }));
}

const doubtful = createRoot(() => {
  const question = () => (source()?.health === "good" ? undefined : sourceKey());
  return createAnswer(question, async (key) => {
    const report = await analysis(key.run, "health", { rank: key.rank, window: key.window });
    return { key, figures: healthFigures(report, key.rank, key.window) };
  })[0];
});

function knownFigures(): HealthFigure[] | undefined {
  const known = source()?.health === "good" ? undefined : doubtful.latest;
  return known?.key === sourceKey() ? known?.figures : undefined;
}

function figureNamed(name: string): number | null {
  return numberOf(knownFigures()?.find((figure) => figure.name === name)?.value ?? null);
}

/** Why the health of the chosen recording is not good, as far as it is known. */
export function knownCause(): HealthCause | undefined {
  const [figures, grade] = [knownFigures(), source()?.health];
  return figures && grade !== undefined ? healthCause(figures, grade) : undefined;
}

/** Why every figure may be off: what was lost of the recording. */
export function lossDoubt(): Sentence | undefined {
  const lost = figureNamed("lost_events") ?? 0;
  if (lost === 0) return undefined;
  const cut = figureNamed("lost.cut_event") ? "the file ends early, " : "";
  return say`${cut}${said("plain", lost)} ${lost === 1 ? "event is" : "events are"} lost`;
}

/** Why figures by operator may be off: device work whose operator is not known, or what was lost. */
export function operatorDoubt(): Sentence | undefined {
  const share = explainedShare((name) => figureNamed(name) ?? 0) ?? 1;
  return share < ENOUGH ? say`only ${said("ratio", share)} of device time belongs to an operator` : lossDoubt();
}
