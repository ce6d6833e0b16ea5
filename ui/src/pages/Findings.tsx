// What is slow, why, and the code to change.
import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { figureText } from "../format/number";
import { capitalized, say, written } from "../format/say";
import { analysis } from "../server/questions";
import type { TablePart } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { pageOf } from "../shell/pages";
import { copyText } from "../shell/Toast";
import { pageAddress } from "../state/route";
import { run, scope } from "../state/session";
import { BeforeAfter } from "../report/BeforeAfter";
import { Severity } from "../report/cells";
import { classTimes, type ClassTime } from "../report/class_times";
import { Prose } from "../report/Prose";
import { Said } from "../report/Said";
import { findingsOf, savingOf, type Finding } from "./finding_rows";
import { showWorst } from "./show_worst";

/** `breakdown` has the step by class, for the picture of what a fix makes of it. */
export function Findings(props: { breakdown: TablePart | undefined }): JSX.Element {
  const question = createMemo(() => {
    const [name, parameters] = [run()?.run, scope()];
    return name !== undefined && parameters ? { run: name, parameters } : undefined;
  });
  const [report, retry] = createAnswer(question, (asked) => analysis(asked.run, "diagnose", asked.parameters));
  const now = createMemo(() => classTimes(props.breakdown, "mean_ns"));
  return (
    <section class="panel findings">
      <Answer of={report} retry={retry} waiting={<Head text="" />}>
        {(report) => (
          <>
            <Head text={asText(findingsOf(report()))} />
            <For each={findingsOf(report())} fallback={<p class="nothing">No findings: no rule matches.</p>}>
              {(finding) => <FindingCard finding={finding} now={now()} />}
            </For>
          </>
        )}
      </Answer>
    </section>
  );
}

function Head(props: { text: string }): JSX.Element {
  return (
    <header>
      <h2>Findings</h2>
      <span class="what">saving per step</span>
      <Show when={props.text}>
        <button class="more plain-link" onClick={() => void copyText(props.text, "Findings")}>
          Copy as text
        </button>
      </Show>
    </header>
  );
}

function FindingCard(props: { finding: Finding; now: ClassTime[] }): JSX.Element {
  const [isOpen, setIsOpen] = createSignal(false);
  const pages = () => props.finding.show.map((target) => pageOf(target.ask)).filter((page) => page !== undefined);
  return (
    <article class="finding">
      <span class="g">
        <Severity level={props.finding.severity} isGlyph />
      </span>
      <b>{written(props.finding.title)}</b>
      <span class="cost">{costOf(props.finding)}</span>
      <p>
        <Said sentence={say`${capitalized(props.finding.evidence[0] ?? [])}.`} />
      </p>
      <Show when={savingOf(props.finding).length > 0}>
        <p>
          <Said sentence={savingOf(props.finding)} />
        </p>
      </Show>
      <span class="go">
        <button
          class="plain-link"
          title="Show the longest instance in the timeline"
          onClick={() => void showWorst(props.finding.rule)}
        >
          Show in timeline
        </button>
        <For each={pages()}>
          {(page) => (
            <a class="plain-link" href={pageAddress(page)}>
              Show {page}
            </a>
          )}
        </For>
        <button class="plain-link" aria-expanded={isOpen()} onClick={() => setIsOpen(!isOpen())}>
          Fix
        </button>
      </span>
      <Show when={isOpen()}>
        <dl class="opened">
          <dt>What</dt>
          <dd>
            <Prose text={props.finding.what} />
          </dd>
          <dt>Why</dt>
          <dd>
            <Prose text={props.finding.why} />
          </dd>
          <dt>Evidence</dt>
          <dd>{props.finding.evidence.map(written).join("\n")}</dd>
          <Show when={props.finding.saving}>
            {(saving) => (
              <>
                <dt>Replay</dt>
                <dd>
                  <BeforeAfter now={props.now} saved={saving()} />
                </dd>
              </>
            )}
          </Show>
          <dt>Fix</dt>
          <dd>
            <pre>{props.finding.fix}</pre>
          </dd>
          <dt>False alarm</dt>
          <dd>
            <Prose text={props.finding.notThis} />
          </dd>
        </dl>
      </Show>
    </article>
  );
}

/** What the fix saves; where that is not known, the time that the finding is about. */
function costOf({ saving, stake }: Finding): string {
  const cost = saving?.saving ?? stake;
  return cost === null ? "" : figureText("ns", cost);
}

function asText(all: Finding[]): string {
  return all
    .map((finding) => {
      const stake = finding.stake === null ? "" : ` (${figureText("ns", finding.stake)} per step at stake)`;
      const evidence = finding.evidence.map((line) => `  ${written(line)}`);
      const saving = [written(savingOf(finding))].filter(Boolean).map((line) => `  ${line}`);
      return [written(finding.title) + stake, ...evidence, ...saving, `  fix: ${finding.fix}`].join("\n");
    })
    .join("\n\n");
}
