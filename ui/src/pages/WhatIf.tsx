// What if: changes are chosen, and the step is replayed with them. Every choice is in the address.
import { createEffect, createMemo, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { sentenceCase } from "../format/names";
import { figureText, rangeText } from "../format/number";
import { savingSentence, type PredictedSaving } from "../format/saving";
import { BeforeAfter } from "../report/BeforeAfter";
import { Null } from "../report/cells";
import { Said } from "../report/Said";
import type { ClassTime } from "../report/class_times";
import { reasonOf } from "../report/table";
import { changes as askChanges, whatif } from "../server/questions";
import type { Report } from "../server/types";
import { Icon } from "../shell/icons";
import { copyText } from "../shell/Toast";
import { createAnswer } from "../state/answer";
import { choice, choose } from "../state/route";
import { ranks, run, scope, source, windows } from "../state/session";
import {
  commandLine,
  EVERY_KERNEL,
  offersOf,
  parseChanges,
  parseScaled,
  savingsOf,
  usualSaving,
  withChange,
  writeChanges,
  writeScaled,
  type Offer,
  type Saving,
} from "./whatif";

/** A change is asked for at once, unless one came just before it: then it waits, as it may be on its way to another. */
const JUST_BEFORE_MS = 100;
const REST_MS = 30;
const SMALLEST_PART = 8;

export function WhatIf(props: {
  /** The step as it is, by class. */
  now: ClassTime[];
  /** The report of the path, which has what usual changes save. */
  usual: Report;
}): JSX.Element {
  const [offered] = createAnswer(
    () => true,
    () => askChanges(),
  );
  const offers = createMemo(() => (offered.latest ? offersOf(offered.latest) : []));
  const chosen = createMemo(() => parseChanges(choice("whatif")));
  const valueOf = (name: string) => chosen().find((change) => change.name === name)?.value;
  const change = (name: string, value: string | undefined) =>
    choose({ whatif: writeChanges(withChange(chosen(), name, value)) }, "replace");
  const question = createMemo(() => {
    const [job, parameters, changes] = [run()?.run, scope(), writeChanges(chosen())];
    return job !== undefined && parameters && changes ? { run: job, parameters, changes } : undefined;
  });
  let changedAt = -Infinity;
  const [answer] = createAnswer(question, async (asked, signal) => {
    const isMoving = performance.now() - changedAt < JUST_BEFORE_MS;
    changedAt = performance.now();
    if (isMoving) await new Promise((rested) => setTimeout(rested, REST_MS));
    signal.throwIfAborted();
    return whatif(asked.run, asked.changes, asked.parameters, signal);
  });
  const command = () => {
    const [own, steps] = [source(), choice("steps")];
    const part: [string, string][] = [];
    if (own && ranks().length > 1) part.push(["--rank", String(own.rank)]);
    if (own && windows().length > 1) part.push(["--window", String(own.window)]);
    if (steps) part.push(["--step", steps]);
    return commandLine(chosen(), offers(), part);
  };
  return (
    <section class="panel whatif" aria-label="What if">
      <header>
        <h2>What if</h2>
        <span class="what">the steps replayed with changes</span>
        <Show when={question()}>
          <button class="more plain-link" onClick={() => void copyText(command(), "Command")}>
            Copy as command
          </button>
        </Show>
      </header>
      <Show when={reasonOf(props.usual, (path) => path === "changes")}>
        {(reason) => <p class="whatif-null">Savings are not known: {reason()}.</p>}
      </Show>
      <div class="offers">
        <For each={offers()}>
          {(offer) => (
            <Switch fallback={<WorkField offer={offer} value={valueOf(offer.name)} change={change} />}>
              <Match when={offer.value === null}>
                <Check
                  offer={offer}
                  isMade={valueOf(offer.name) !== undefined}
                  saving={usualSaving(props.usual, offer)}
                  change={change}
                />
              </Match>
              <Match when={offer.name === "scale"}>
                <Slider offer={offer} value={valueOf(offer.name)} change={change} />
              </Match>
            </Switch>
          )}
        </For>
      </div>
      <div class="whatif-answer" aria-live="polite" aria-busy={question() !== undefined && !answer.latest && !answer.error}>
        <Switch fallback={<p class="muted">Choose a change. It is replayed on the recorded steps at once.</p>}>
          <Match when={answer.error}>
            <p class="doubtful" role="alert">
              <Icon name="triangle" size={14} /> {answer.error instanceof Error ? answer.error.message : String(answer.error)}
            </p>
          </Match>
          {/* The answer before is dimmed: to hide it would make it blink while a slider moves. */}
          <Match when={question() && (answer.latest ?? answer.former)}>
            {(report) => <Savings report={report()} now={props.now} />}
          </Match>
        </Switch>
      </div>
    </section>
  );
}

type Changing = { offer: Offer; change: (name: string, value: string | undefined) => void };

/** `At most: data must still be exchanged.` */
const hintOf = (offer: Offer) => `${sentenceCase(offer.bound)}: ${offer.because}.`;

function Check(props: Changing & { isMade: boolean; saving: string | undefined }): JSX.Element {
  return (
    <label class="offer" title={hintOf(props.offer)}>
      <input
        type="checkbox"
        checked={props.isMade}
        onChange={(event) => props.change(props.offer.name, event.currentTarget.checked ? "" : undefined)}
      />
      <span class="grow">{props.offer.about}</span>
      <span class="faint">{props.saving}</span>
    </label>
  );
}

function Slider(props: Changing & { value: string | undefined }): JSX.Element {
  const scaled = () => parseScaled(props.value);
  // The work stays in its field while nothing of it is changed.
  const [work, setWork] = createSignal(scaled().work);
  createEffect(() => props.value !== undefined && setWork(scaled().work));
  const set = (divisor: number) =>
    props.change(props.offer.name, divisor > 1 ? writeScaled({ work: work(), divisor }) : undefined);
  return (
    <div class="offer" title={hintOf(props.offer)}>
      <label class="field">
        <span class="hidden-text">Work that takes a part of its time</span>
        <input
          value={work()}
          placeholder={EVERY_KERNEL}
          spellcheck={false}
          onChange={(event) => {
            setWork(event.currentTarget.value || EVERY_KERNEL);
            set(scaled().divisor);
          }}
        />
      </label>
      <label class="part">
        <span>takes 1/{scaled().divisor}</span>
        <input
          type="range"
          min="1"
          max={SMALLEST_PART}
          step="1"
          value={scaled().divisor}
          aria-label="Part of its time that the work takes"
          aria-valuetext={`1/${scaled().divisor}`}
          onInput={(event) => set(Number(event.currentTarget.value))}
        />
      </label>
    </div>
  );
}

/** A change of work that is named; without a name nothing is changed. */
function WorkField(props: Changing & { value: string | undefined }): JSX.Element {
  return (
    <div class="offer" title={`${props.offer.about}. ${hintOf(props.offer)}`}>
      <label class="field">
        <span class="verb">{props.offer.name}</span>
        <input
          value={props.value ?? ""}
          placeholder={props.offer.value ?? ""}
          aria-label={props.offer.about}
          spellcheck={false}
          onChange={(event) => props.change(props.offer.name, event.currentTarget.value || undefined)}
        />
      </label>
    </div>
  );
}

/** What the changes come to: the last row is all of them together. */
function Savings(props: { report: Report; now: ClassTime[] }): JSX.Element {
  const rows = createMemo(() => savingsOf(props.report));
  const all = () => rows().at(-1);
  return (
    <Show when={all()} fallback={<p>{reasonOf(props.report, (path) => path === "rows") ?? "not known"}</p>}>
      {(all) => (
        <>
          <Show when={saved(all())} fallback={<p>What this saves is not known: {all().reason}.</p>}>
            {(saved) => (
              <>
                <BeforeAfter now={props.now} step={all().step} saved={saved()} />
                <p>
                  <Said sentence={savingSentence(saved())} />
                </p>
              </>
            )}
          </Show>
          <Show when={rows().length > 1 || all().matched !== null}>
            <Each rows={rows()} />
          </Show>
        </>
      )}
    </Show>
  );
}

/** Each change alone; savings do not add up, so the last row is all of them together. */
function Each(props: { rows: Saving[] }): JSX.Element {
  return (
    <table class="savings">
      <thead>
        <tr>
          <th>Change</th>
          <th class="num">Matches</th>
          <th class="num">Saves</th>
          <th class="num">Range</th>
        </tr>
      </thead>
      <tbody>
        <For each={props.rows}>
          {(row) => (
            <tr>
              <td title={row.change}>{row.change}</td>
              <td class="num">{row.matched === null ? "" : figureText("plain", row.matched)}</td>
              <Show
                when={saved(row)}
                fallback={
                  <>
                    <td class="num">
                      <Null reason={row.reason} />
                    </td>
                    <td />
                  </>
                }
              >
                {(saved) => (
                  <>
                    <td class="num">{figureText("ns", Math.round(saved().saving))}</td>
                    <td class="num">{rangeText(saved().low, saved().high)}</td>
                  </>
                )}
              </Show>
            </tr>
          )}
        </For>
      </tbody>
    </table>
  );
}

function saved(row: Saving): PredictedSaving | undefined {
  const { saving, low, high, bound, confidence } = row;
  return saving === null || low === null || high === null ? undefined : { saving, low, high, bound, confidence };
}
