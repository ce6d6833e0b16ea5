// What makes figures of the chosen recording doubtful, where its health is not good.
import { createRoot } from "solid-js";
import { count, figureText, numberOf } from "../format/number";
import { analysis } from "../server/questions";
import type { Cell, Report } from "../server/types";
import { createAnswer } from "./answer";
import { source, sourceKey } from "./session";

/** Below this share of device time, figures by operator are doubtful; the grade of a recording draws the same line. */
const ENOUGH = 0.95;

export type HealthFigure = { name: string; value: Cell; reason: Cell; meaning: string };

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

function figureNamed(name: string): number | null {
  const known = source()?.health === "good" ? undefined : doubtful.latest;
  const figure = known?.key === sourceKey() ? known?.figures.find((figure) => figure.name === name) : undefined;
  return numberOf(figure?.value ?? null);
}

/** Why every figure may be off: what was lost of the recording. */
export function lossDoubt(): string | undefined {
  const lost = figureNamed("lost_events") ?? 0;
  if (lost === 0) return undefined;
  const cut = figureNamed("lost.cut_event") ? "the file ends early, " : "";
  return `${cut}${count(lost)} ${lost === 1 ? "event is" : "events are"} lost`;
}

/** Why figures by operator may be off: device work whose operator is not known, or what was lost. */
export function operatorDoubt(): string | undefined {
  const [all, known, graphs] = ["device_time_ns", "device_time_with_operator_ns", "graph_device_time_ns"].map(
    (name) => figureNamed(name) ?? 0,
  );
  const share = all === 0 ? 1 : (known! + graphs!) / all!;
  return share < ENOUGH ? `only ${figureText("ratio", share)} of device time belongs to an operator` : lossDoubt();
}
