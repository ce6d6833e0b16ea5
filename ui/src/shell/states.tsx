// What a page says when it has no figures: why, and what to do about it.
import { For, createEffect, createSignal, Index, Show, type JSX } from "solid-js";
import { Prose } from "../report/Prose";
import { ServerError } from "../server/client";
import type { Problem, Run } from "../server/types";
import { addressWith } from "../state/route";
import type { Unknown } from "../state/unknown";
import { Icon } from "./icons";
import { rateOf, readingWords, withSample, type Sample } from "./reading";
import { copyText } from "./Toast";

/** One sentence why, one line of code that would record it. */
export function EmptyState(props: {
  title: string;
  why?: string;
  code?: string | null;
  children?: JSX.Element;
}): JSX.Element {
  return (
    <div class="state">
      <h2>{props.title}</h2>
      <Show when={props.why}>
        <p>{props.why}</p>
      </Show>
      <Show when={props.code}>
        <pre>{props.code}</pre>
      </Show>
      {props.children}
    </div>
  );
}

/** What the address names and is not there, each with a link that takes it away. No figures: they would be others'. */
export function UnknownState(props: { unknown: Unknown[] }): JSX.Element {
  return (
    <div class="state unknown" role="alert">
      <For each={props.unknown}>{(each) => <h2>{each.text}.</h2>}</For>
      <p>This link may belong to other traces.</p>
      <div class="buttons">
        <For each={props.unknown}>
          {(each) => (
            <a class="btn" href={addressWith(Object.fromEntries(each.keys.map((key) => [key, undefined])))}>
              {each.remedy}
            </a>
          )}
        </For>
      </div>
    </div>
  );
}

/** The terminal's words, copyable, with retry. */
export function ErrorState(props: { error: unknown; retry?: () => void }): JSX.Element {
  const problem = () => problemOf(props.error);
  const whole = () => {
    const { message, location, hint } = problem();
    return `error: ${message}${location ? `: ${location}` : ""}${hint ? `\nhint: ${hint}` : ""}`;
  };
  return (
    <div class="state" role="alert">
      <span class="glyph">
        <Icon name="octagon" size={22} />
      </span>
      <h2>{capital(problem().message)}</h2>
      <Show when={problem().location}>
        <p class="mono">{problem().location}</p>
      </Show>
      <Show when={problem().hint}>
        {(hint) => (
          <p>
            <Prose text={capital(hint())} />
          </p>
        )}
      </Show>
      <div class="buttons">
        <Show when={props.retry}>
          <button class="btn" onClick={() => props.retry?.()}>
            Try again
          </button>
        </Show>
        <button class="btn" onClick={() => void copyText(whole(), "Error")}>
          Copy
        </button>
      </div>
    </div>
  );
}

/** Runs that are being read: what is done, the rate, the time left, and the file. */
export function ReadingState(props: { runs: Run[] }): JSX.Element {
  const [samples, setSamples] = createSignal(new Map<string, Sample[]>());
  createEffect(() => {
    const at = performance.now();
    const runs = props.runs.map((run) => ({ name: run.run, bytes: run.progress?.done_bytes ?? 0 }));
    setSamples(
      (before) => new Map(runs.map(({ name, bytes }) => [name, withSample(before.get(name) ?? [], { at, bytes })])),
    );
  });
  const words = (run: Run) => readingWords(run.progress, rateOf(samples().get(run.run) ?? []));
  const share = (run: Run) => (run.progress?.done_bytes ?? 0) / Math.max(1, run.progress?.total_bytes ?? 1);
  return (
    <div class="state" role="status">
      <Index each={props.runs}>
        {(run) => (
          <div class="progress">
            <div class="line">
              <span class="cut" title={run().run}>
                {run().run}
              </span>
              <span class="muted">reading</span>
            </div>
            <div class="track">
              <i style={{ width: `${100 * Math.min(1, share(run()))}%` }} />
            </div>
            <div class="line">
              <span>{words(run()).done}</span>
              <span>{words(run()).left}</span>
            </div>
            <div class="line">
              <span class="cut mono" title={words(run()).file}>
                {words(run()).file}
              </span>
            </div>
          </div>
        )}
      </Index>
    </div>
  );
}

/** What is in the way, whoever says so: the server, the state of a run, or the browser. */
function problemOf(error: unknown): Problem {
  if (error instanceof ServerError) return error.problem;
  if (typeof error === "object" && error !== null && "location" in error) return error as Problem;
  return { message: error instanceof Error ? error.message : String(error), location: null, hint: null };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
