// Two runs side by side: how much differs, what makes the difference, and whether it is more than noise. The server
// compares; the page shows.
import { createMemo, For, Show, type JSX } from "solid-js";
import { asFigure, count, figureText, formatOf, numberOf, show, symbolOf } from "../format/number";
import { signed } from "../format/signed";
import { Bridge } from "../charts/Bridge";
import { StepDots } from "../charts/StepDots";
import { timeUnit } from "../charts/scale";
import type { Cell, Unit } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { Icon, type IconName } from "../shell/icons";
import { EmptyState } from "../shell/states";
import { comparedPart } from "../state/compared";
import { choice } from "../state/route";
import { comparedRuns } from "../state/session";
import { Lede } from "../report/parts";
import { Said } from "../report/Said";
import { cellNamed, headline, tableNamed } from "../report/table";
import { BothTimelines } from "./BothTimelines";
import { ChangeTable } from "./ChangeTable";
import { ModuleChanges } from "./ModuleChanges";
import { askComparison, type Comparison, type Side } from "./ask_comparison";
import { changeTables, classesOf, remarks, verdictIn, type Verdict } from "./comparison";

export function Compare(): JSX.Element {
  const question = createMemo(() => {
    const [a, b] = comparedRuns();
    return a && b ? { a, b, part: comparedPart(a, b, { rank: choice("rank"), window: choice("window") }) } : undefined;
  });
  const [answered, retry] = createAnswer(question, ({ a, b, part }) => askComparison(a, b, part));
  return (
    <Show
      when={question()}
      fallback={
        <EmptyState
          title="Compare needs two runs"
          why="Open two runs together, or a folder that holds both."
          code="stepscope open before/ after/"
        />
      }
    >
      <Answer
        of={answered}
        retry={retry}
        waiting={
          <div class="page">
            <Lede />
          </div>
        }
      >
        {(answered) => <Compared report={answered().report} a={answered().a} b={answered().b} />}
      </Answer>
    </Show>
  );
}

function Compared(props: Comparison): JSX.Element {
  const classes = createMemo(() => classesOf(props.report));
  const meanings = () => new Map(classes().map((each) => [each.name, each.meaning]));
  const tables = createMemo(() => changeTables(props.report));
  const unit = createMemo(() => timeUnit(Math.max(...[...props.a.steps, ...props.b.steps].map((step) => step.dur), 1)));
  return (
    <div class="page">
      <div class="lede">
        <h1>
          <Said sentence={headline(props.report) ?? []} />
        </h1>
        <p class="sides">
          <kbd>A</kbd> {sideInWords(props.a)} <i>·</i> <kbd class="b">B</kbd> {sideInWords(props.b)}
          <Show when={verdictIn(props.report)}>
            {(verdict) => (
              <>
                {" "}
                <i>·</i> {stepsInWords(props.a)} and {stepsInWords(props.b)} steps <i>·</i>{" "}
                <VerdictBadge verdict={verdict()} />
                <Show when={shiftInWords(verdict())}>{(words) => <span class="shift">{words()}</span>}</Show>
              </>
            )}
          </Show>
        </p>
        <For each={remarks(props.report)}>
          {(remark) => (
            <p>
              <Said sentence={remark} />
            </p>
          )}
        </For>
      </div>
      <Figures a={props.a} b={props.b} />
      <Show
        when={classes().length > 0}
        fallback={
          <section class="panel">
            <p class="nothing">
              Both runs need complete steps that were marked in the same way. Call <code>prof.step()</code> after each
              iteration.
            </p>
          </section>
        }
      >
        <div class="cols compare-grid">
          <section class="panel">
            <header>
              <h2>Change from A to B by class</h2>
              <span class="what">critical path, mean {unit().symbol} per step; the bars add up to the change</span>
            </header>
            <div class="chart">
              <Bridge classes={classes()} unit={unit()} height={236} />
            </div>
          </section>
          <section class="panel">
            <header>
              <h2>Every step</h2>
              <span class="what">{unit().symbol}, line at p50</span>
            </header>
            <div class="chart">
              <StepDots a={props.a.steps} b={props.b.steps} unit={unit()} height={236} />
            </div>
          </section>
        </div>
      </Show>
      <div class="cols halves">
        <For each={tables()}>{(table) => <ChangeTable table={table} a={props.a} b={props.b} meanings={meanings()} />}</For>
      </div>
      <Show when={tables().find((table) => table.id === "module_rows")}>{(table) => <ModuleChanges table={table()} />}</Show>
      <BothTimelines a={props.a} b={props.b} />
    </div>
  );
}

/** The run, with what is compared of it if it has more. Windows are counted as the top bar does. */
function sideInWords({ run, source }: Side): string {
  const ranks = new Set(run.sources.map(({ rank }) => rank));
  const windows = run.sources.filter(({ rank }) => rank === source?.rank).map(({ window }) => window);
  const words = [run.run];
  if (ranks.size > 1) words.push(`rank ${source?.rank}`);
  if (windows.length > 1) words.push(`window ${windows.indexOf(source?.window ?? 0) + 1} of ${windows.length}`);
  return words.join(", ");
}

/** How many steps are compared, and of how many if not of all. */
function stepsInWords({ steps, complete }: Side): string {
  return steps.length < complete ? `${count(steps.length)} of ${count(complete)}` : count(steps.length);
}

const TONES: Record<string, { tone: string; icon: IconName }> = {
  faster: { tone: "good", icon: "check" },
  slower: { tone: "bad", icon: "octagon" },
  "no change": { tone: "plain", icon: "check" },
};

function VerdictBadge(props: { verdict: Verdict }): JSX.Element {
  const look = () => TONES[props.verdict.word] ?? { tone: "warn", icon: "triangle" as const };
  const p = () => (props.verdict.p === null ? "" : props.verdict.p < 0.001 ? ", p < 0.001" : `, p = ${props.verdict.p.toFixed(3)}`);
  return (
    <span class={`badge ${look().tone}`} title={props.verdict.reason}>
      <Icon name={look().icon} size={14} />
      {props.verdict.word}
      {p()}
    </span>
  );
}

/** How far the steps are apart, and the range that holds the true shift. */
function shiftInWords({ shift, range, reason }: Verdict): string | undefined {
  const percent = (ratio: number) => signed(ratio, (size) => figureText("ratio", size));
  if (shift === null) return reason;
  const within = range ? `, 98 % range ${percent(range[0])} to ${percent(range[1])}` : "";
  return `median shift ${percent(shift)}${within}`;
}

/** Figures of both runs: times of the steps that are compared, and devices over the whole recording. */
function Figures(props: { a: Side; b: Side }): JSX.Element {
  const time = (name: string) => ({
    a: cellNamed(props.a.stepTime, 0, name),
    b: cellNamed(props.b.stepTime, 0, name),
  });
  const ofDevice = (side: Side, name: string) => cellNamed(tableNamed(side.summary, "devices"), 0, name);
  const device = (name: string) => ({ a: ofDevice(props.a, name), b: ofDevice(props.b, name) });
  return (
    <div class="strip">
      <Pair label="Step, mean" unit="ns" {...time("mean_ns")} />
      <Pair label="Step, p50" unit="ns" {...time("p50_ns")} />
      <Pair label="Step, p90" unit="ns" {...time("p90_ns")} />
      <Pair label="GPU utilization" unit="ratio" {...device("gpu_utilization_ratio")} />
      <Pair label="Est. SM efficiency" unit="ratio" {...device("est_sm_efficiency_ratio")} />
      <Pair label="Memory growth" unit="bytes" {...device("memory_growth_bytes")} />
    </div>
  );
}

/** A figure of A and of B, and the difference: shares differ by points. */
function Pair(props: { label: string; unit: Unit; a: Cell; b: Cell }): JSX.Element {
  const change = () => {
    const [a, b] = [numberOf(props.a), numberOf(props.b)];
    if (a === null || b === null) return "not recorded in both runs";
    if (a === b) return "no change";
    if (props.unit === "ratio") return `${signed(b - a, (by) => (by * 100).toFixed(1))} points`;
    const share = a === 0 ? "" : `, ${signed((b - a) / a, (by) => figureText("ratio", by))}`;
    return `${signed(b - a, (by) => figureText(props.unit, Math.round(by)))}${share}`;
  };
  // One unit for both, as only one is written.
  const format = () => asFigure(formatOf(props.unit, [props.a, props.b]), [props.a, props.b]);
  const digits = (cell: Cell) => show(format(), cell).replace(/ %$/, "");
  return (
    <div class="stat">
      <div class="l">{props.label}</div>
      <div class="v pair">
        <span>{digits(props.a)} →</span> {digits(props.b)}
        <u>{props.unit === "ratio" ? "%" : symbolOf(format())}</u>
      </div>
      <div class="s">{change()}</div>
    </div>
  );
}
