// From wide to narrow: run, rank, window, steps. Then search, health, theme and help.
import { createEffect, createMemo, createSignal, For, Match, onCleanup, Show, Switch, type JSX } from "solid-js";
import { stepNumber } from "../format/names";
import { count, figureText } from "../format/number";
import { openQuestions } from "../server/client";
import { commonParts, comparedPart, recordingOf } from "../state/compared";
import { choice, choose, currentPage, pageAddress } from "../state/route";
import {
  chosenRange,
  chosenSteps,
  comparedRuns,
  ranks,
  run,
  session,
  showsAllRanks,
  source,
  stepsAddress,
  timelineOutline,
  windows,
} from "../state/session";
import { words, written } from "../format/say";
import { knownCause } from "../state/health";
import { theme, toggleTheme } from "../state/theme";
import { gradeWord, HealthBadge, HealthSheet } from "./HealthSheet";
import { Brand, Icon } from "./icons";
import { MANY_OPTIONS } from "./picked";
import { Picker } from "./Picker";
import { SearchBox } from "./SearchBox";

const HAIRLINE_AFTER_MS = 150;

export function TopBar(props: { openHelp: () => void }): JSX.Element {
  const [showsHealth, setShowsHealth] = createSignal(false);
  return (
    <header class="topbar">
      <a class="brand" href={pageAddress("overview")} aria-label="Stepscope, overview">
        <Brand />
        <span>Stepscope</span>
      </a>
      <Show when={currentPage() === "compare"} fallback={<Selectors />}>
        <ComparedSelectors />
      </Show>
      <Show when={chosenRange()}>
        {(range) => (
          <span class="chip">
            {figureText("ns", range().from)} – {figureText("ns", range().to)}
            <button aria-label="Remove the range" onClick={() => choose({ from: undefined, to: undefined })}>
              <Icon name="close" size={12} />
            </button>
          </span>
        )}
      </Show>
      <span class="grow" />
      <SearchBox />
      <Show when={source()}>
        {(source) => (
          <button
            class="health-button"
            aria-label={`Trace health: ${gradeWord(source().health)}${knownCause()?.short ? ` · ${knownCause()?.short}` : ""}`}
            title={written(knownCause()?.sentence ?? words("Trace health"))}
            onClick={() => setShowsHealth(true)}
          >
            <HealthBadge grade={source().health} cause={knownCause()?.short} />
          </button>
        )}
      </Show>
      <button class="icon" aria-label="Switch theme" title="Switch dark and light theme (t)" onClick={toggleTheme}>
        <Icon name={theme() === "dark" ? "sun" : "moon"} />
      </button>
      <button
        class="icon"
        aria-label="Keyboard and mouse"
        title="Keyboard and mouse (?)"
        onClick={() => props.openHelp()}
      >
        <Icon name="help" />
      </button>
      <Hairline />
      <Show when={showsHealth() && source()}>
        {(source) => <HealthSheet grade={source().health} close={() => setShowsHealth(false)} />}
      </Show>
    </header>
  );
}

/** The ranks, after all of them together where a page shows that. */
function rankOptions(): [string, string][] {
  const all = ranks();
  const together: [string, string][] = showsAllRanks() && all.length > 1 ? [["all", `all ${count(all.length)}`]] : [];
  const several: [string, string][] =
    currentPage() === "timeline" && all.length > 1 ? [["several", "several ranks"]] : [];
  const each = all.map((rank): [string, string] => [
    String(rank),
    all.length > 1 ? `${rank} of ${all[0]}–${all.at(-1)}` : String(rank),
  ]);
  return [...together, ...several, ...each];
}

function Selectors(): JSX.Element {
  const runs = () => session()?.runs.map((run) => run.run) ?? [];
  const rank = () => {
    const named = choice("rank") ?? String(ranks()[0]);
    return ranks().some((rank) => String(rank) === named) ? named : "";
  };
  const isSeveral = () => currentPage() === "timeline" && choice("ranks") !== undefined && ranks().length > 1;
  return (
    <div class="selectors">
      <Show when={runs().length > 0}>
        <Selector
          label="Run"
          value={run()?.run ?? ""}
          options={[
            ...(run() ? [] : [["", "choose one"] as [string, string]]),
            ...runs().map((name): [string, string] => [name, name]),
          ]}
          choose={(value) => choose({ run: value })}
        />
      </Show>
      <Show when={ranks().length > 0}>
        <Selector
          label="Rank"
          value={isSeveral() ? "several" : showsAllRanks() && choice("rank") === undefined ? "all" : rank()}
          options={[...(rank() === "" ? [["", "choose one"] as [string, string]] : []), ...rankOptions()]}
          choose={(value) =>
            value === "several"
              ? choose({ ranks: "all", sel: undefined })
              : choose({ rank: value === "all" ? undefined : value, ranks: undefined, view: undefined })
          }
        />
        <Show when={windows().length > 1}>
          <Selector
            label="Window"
            value={source() ? String(source()?.window) : ""}
            options={[
              ...(source() ? [] : [["", "choose one"] as [string, string]]),
              ...windows().map((window, place): [string, string] => [
                String(window),
                `${place + 1} of ${windows().length}`,
              ]),
            ]}
            choose={(value) => choose({ window: value })}
          />
        </Show>
        <StepSelector />
      </Show>
    </div>
  );
}

/** On the page that compares, the two sides take the place of the run. */
function ComparedSelectors(): JSX.Element {
  const options = () =>
    (session()?.runs ?? []).filter((run) => run.state === "ready").map((run): [string, string] => [run.run, run.run]);
  /** What is compared of both, and what else they have in common. */
  const part = createMemo(() => {
    const [a, b] = comparedRuns();
    if (!a || !b) return undefined;
    const taken = recordingOf(a, comparedPart(a, b, { rank: choice("rank"), window: choice("window") }));
    return { rank: taken?.rank, window: taken?.window, ...commonParts(a, b, taken?.rank) };
  });
  return (
    <div class="selectors">
      <Selector
        label="A"
        value={comparedRuns()[0]?.run ?? ""}
        options={options()}
        choose={(value) => choose({ a: value })}
      />
      <Selector
        label="B"
        value={comparedRuns()[1]?.run ?? ""}
        options={options()}
        choose={(value) => choose({ b: value })}
      />
      <Show when={part()}>
        {(part) => (
          <>
            <Show when={part().ranks.length > 1}>
              <Selector
                label="Rank"
                value={String(part().rank)}
                options={part().ranks.map((rank): [string, string] => [String(rank), String(rank)])}
                choose={(value) => choose({ rank: value, view: undefined })}
              />
            </Show>
            <Show when={part().windows.length > 1}>
              <Selector
                label="Window"
                value={String(part().window)}
                options={part().windows.map((window, place): [string, string] => [
                  String(window),
                  `${place + 1} of ${part().windows.length}`,
                ])}
                choose={(value) => choose({ window: value })}
              />
            </Show>
          </>
        )}
      </Show>
    </div>
  );
}

const UNKNOWN_STEPS = "unknown";

function StepSelector(): JSX.Element {
  const steps = () => timelineOutline()?.steps ?? [];
  /** Names of a program that runs again and again are all the same. */
  const isNamed = createMemo(() => new Set(steps().map((step) => step.name)).size === steps().length);
  const number = (place: number) => {
    const step = steps()[place];
    return step && isNamed() ? stepNumber(step.name) : String(step?.number ?? place);
  };
  const span = (first: number, last: number) => (first === last ? number(first) : `${number(first)}–${number(last)}`);
  const all = () => span(0, steps().length - 1);
  const value = () => {
    const chosen = chosenSteps();
    if (chosen) return stepsAddress(chosen.first, chosen.last);
    return choice("steps") === undefined ? "" : UNKNOWN_STEPS;
  };
  const options = (): [string, string][] => {
    const chosen = chosenSteps();
    const each = steps().map((step, place): [string, string] => [String(step.number), `${number(place)} of ${all()}`]);
    const range: [string, string][] =
      chosen && chosen.first !== chosen.last ? [[value(), `${span(chosen.first, chosen.last)} of ${all()}`]] : [];
    const unknown: [string, string][] = value() === UNKNOWN_STEPS ? [[UNKNOWN_STEPS, "choose one"]] : [];
    return [...unknown, ["", all()], ...range, ...each];
  };
  return (
    <Show when={steps().length > 0}>
      <Selector
        label="Steps"
        value={value()}
        options={steps().length > 1 || value() === UNKNOWN_STEPS ? options() : [["", all()]]}
        choose={(chosen) => choose({ steps: chosen || undefined, view: undefined })}
      />
    </Show>
  );
}

type Choice = { label: string; value: string; options: [string, string][]; choose: (value: string) => void };

/** A choice; one that leaves no choice is a text without an arrow. */
function Selector(props: Choice): JSX.Element {
  // Made once for a change: there may be ten thousand.
  const options = createMemo(() => props.options);
  const text = () => options()[0]?.[1] ?? props.value;
  return (
    <Switch
      fallback={
        <label class="sel">
          <span class="k">{props.label}</span>
          <select onChange={(event) => props.choose(event.currentTarget.value)}>
            <For each={options()}>
              {([value, text]) => (
                <option value={value} selected={value === props.value}>
                  {text}
                </option>
              )}
            </For>
          </select>
          <Icon name="down" size={12} />
        </label>
      }
    >
      <Match when={options().length <= 1}>
        <span class="sel">
          <span class="k">{props.label}</span>
          <b title={text()}>{text()}</b>
        </span>
      </Match>
      <Match when={options().length > MANY_OPTIONS}>
        <span class="sel">
          <span class="k">{props.label}</span>
          <Picker label={props.label} value={props.value} options={options()} choose={props.choose} />
          <Icon name="down" size={12} />
        </span>
      </Match>
    </Switch>
  );
}

/** Says that something is on its way, but only if it takes longer than a blink. */
function Hairline(): JSX.Element {
  const [isSlow, setIsSlow] = createSignal(false);
  createEffect(() => {
    if (openQuestions() === 0) {
      setIsSlow(false);
      return;
    }
    const timer = setTimeout(() => setIsSlow(true), HAIRLINE_AFTER_MS);
    onCleanup(() => clearTimeout(timer));
  });
  return (
    <Show when={isSlow()}>
      <div class="hairline" role="progressbar" aria-label="Loading" />
    </Show>
  );
}
