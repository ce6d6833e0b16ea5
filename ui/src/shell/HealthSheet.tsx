// How far the figures of this recording can be trusted, and why.
import { For, Show, type JSX } from "solid-js";
import { figureText } from "../format/number";
import { analysis } from "../server/questions";
import type { Grade, Report, Unit } from "../server/types";
import { Said } from "../report/Said";
import { healthFigures, type HealthFigure } from "../state/health";
import { healthCause } from "../state/health_cause";
import { skippedTitle } from "../state/skipped";
import { run, session, sourceKey } from "../state/session";
import { Answer } from "./Answer";
import { createAnswer } from "../state/answer";
import { Icon, type IconName } from "./icons";
import { Sheet } from "./Sheet";

const GRADES: Record<Grade, { tone: string; icon: IconName; word: string }> = {
  good: { tone: "good", icon: "check", word: "Good" },
  partial: { tone: "warn", icon: "triangle", word: "Partial" },
  poor: { tone: "bad", icon: "octagon", word: "Poor" },
};

const SKIPPED_SHOWN = 40;

/** The word of a grade; a recording that has none is not whole. */
export const gradeWord = (grade: Grade | null): string => GRADES[grade ?? "partial"].word;

export function HealthBadge(props: { grade: Grade | null; cause?: string }): JSX.Element {
  const grade = () => GRADES[props.grade ?? "partial"];
  return (
    <span class={`badge ${grade().tone}`}>
      <Icon name={grade().icon} size={14} />
      {grade().word}
      <Show when={props.cause}>
        <span class="cause"> · {props.cause}</span>
      </Show>
    </span>
  );
}

/** The value of a health figure in words; its name carries the unit. */
export function healthText(figure: HealthFigure): string {
  const unit: Unit = figure.name.endsWith("_ns") ? "ns" : figure.name.endsWith("_ratio") ? "ratio" : "plain";
  if (typeof figure.value === "object" && figure.value !== null) {
    return Object.entries(figure.value)
      .map(([name, value]) => `${name.replaceAll("_", " ")}: ${String(value)}`)
      .join(", ");
  }
  return typeof figure.value === "string" ? figure.value.replaceAll("_", " ") : figureText(unit, figure.value);
}

export function HealthSheet(props: { grade: Grade | null; close: () => void }): JSX.Element {
  const [report, retry] = createAnswer(sourceKey, (key) =>
    analysis(key.run, "health", { rank: key.rank, window: key.window }),
  );
  const figures = (report: Report) => healthFigures(report, sourceKey()?.rank ?? 0, sourceKey()?.window ?? 0);
  return (
    <Sheet title="Trace health" close={props.close} aside={<HealthBadge grade={props.grade} />}>
      <Answer of={report} retry={retry}>
        {(report) => (
          <p class="cause-sentence">
            <Said sentence={healthCause(figures(report()), props.grade).sentence} />
          </p>
        )}
      </Answer>
      <Show when={run()?.apart_because}>
        {(reason) => <p class="muted wrap">Separate from the other traces in its folder: {reason()}.</p>}
      </Show>
      <SkippedFiles />
      <Answer of={report} retry={retry}>
        {(report) => (
          <table>
            <thead>
              <tr>
                <th>Metric</th>
                <th class="num">Value</th>
                <th>Meaning</th>
              </tr>
            </thead>
            <tbody>
              <For each={figures(report())}>
                {(figure) => (
                  <tr>
                    <td>{figure.name.replace(/_(ns|ratio)$/, "").replaceAll("_", " ")}</td>
                    <td class="num">
                      <Show
                        when={figure.value !== null}
                        fallback={
                          <span class="null" title={String(figure.reason ?? "")}>
                            –
                          </span>
                        }
                      >
                        {healthText(figure)}
                      </Show>
                    </td>
                    <td class="muted wrap">{figure.meaning}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        )}
      </Answer>
    </Sheet>
  );
}

/** Files beside the traces that are in no figure. */
function SkippedFiles(): JSX.Element {
  const files = () => session()?.skipped_files ?? [];
  return (
    <Show when={files().length > 0}>
      <details open={files().some((file) => file.is_unreadable)}>
        <summary>{skippedTitle(files())}</summary>
        <ul>
          <For each={files().slice(0, SKIPPED_SHOWN)}>
            {(file) => (
              <li>
                <code>{file.path}</code> <span class="muted">{file.what}</span>
              </li>
            )}
          </For>
          <Show when={files().length > SKIPPED_SHOWN}>
            <li class="muted">{`and ${files().length - SKIPPED_SHOWN} more`}</li>
          </Show>
        </ul>
      </details>
    </Show>
  );
}
