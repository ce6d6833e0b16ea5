// Two runs side by side: how much differs, what makes the difference, and whether it is more than noise.
import { createMemo, For, Show, type JSX } from "solid-js";
import { asFigure, count, figureText, formatOf, formatOfHeader, numberOf, show, symbolOf } from "../format/number";
import { kernelLabels } from "../format/kernel_labels";
import { Bridge } from "../charts/Bridge";
import { StepDots } from "../charts/StepDots";
import { analysis } from "../server/questions";
import type { Cell, Run, Unit } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { Icon } from "../shell/icons";
import { EmptyState } from "../shell/states";
import { pageAddress } from "../state/route";
import { comparedRuns } from "../state/session";
import { Ends } from "../report/cells";
import { Lede } from "../report/parts";
import { cellNamed, tableNamed } from "../report/table";
import {
  changes,
  classMeans,
  differenceInWords,
  stepTimes,
  verdictOf,
  type Changed,
  type Side,
  type Verdict,
} from "./comparison";

const SHOWN = 40;

export function Compare(): JSX.Element {
  const question = createMemo(() => {
    const [a, b] = comparedRuns();
    return a && b ? { a, b } : undefined;
  });
  const [sides, retry] = createAnswer(question, async ({ a, b }) => ({
    a: await askSide(a),
    b: await askSide(b),
    names: [a.run, b.run],
  }));
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
        of={sides}
        retry={retry}
        waiting={
          <div class="page">
            <Lede />
          </div>
        }
      >
        {(sides) => <Compared a={sides().a} b={sides().b} names={sides().names} />}
      </Answer>
    </Show>
  );
}

/** What is compared: the first recording of each run. */
async function askSide(run: Run): Promise<Side> {
  const parameters = { rank: run.sources[0]?.rank, window: run.sources[0]?.window };
  const [summary, steps, operators, kernels] = await Promise.all([
    analysis(run.run, "summary", parameters),
    analysis(run.run, "steps", parameters),
    analysis(run.run, "ops", { ...parameters, limit: 5000 }),
    analysis(run.run, "kernels", { ...parameters, limit: 5000 }),
  ]);
  return { summary, steps, operators, kernels };
}

function Compared(props: { a: Side; b: Side; names: string[] }): JSX.Element {
  const times = (side: Side) => stepTimes(side.steps);
  const verdict = () =>
    verdictOf(
      times(props.a).map((step) => step.dur),
      times(props.b).map((step) => step.dur),
    );
  const time = (side: Side, name: string) => cellNamed(tableNamed(side.summary, "step_time"), 0, name);
  const device = (side: Side, name: string) => cellNamed(tableNamed(side.summary, "devices"), 0, name);
  const operators = createMemo(() =>
    changes(
      tableNamed(props.a.operators, "rows"),
      tableNamed(props.b.operators, "rows"),
      "host_self_ns",
      "calls",
      times(props.a).length,
      times(props.b).length,
    ),
  );
  const kernels = createMemo(() =>
    changes(
      tableNamed(props.a.kernels, "rows"),
      tableNamed(props.b.kernels, "rows"),
      "total_ns",
      "count",
      times(props.a).length,
      times(props.b).length,
    ),
  );
  return (
    <div class="page">
      <div class="lede">
        <h1>{differenceInWords(classMeans(props.a.summary), classMeans(props.b.summary), verdict().word)}</h1>
        <p class="sides">
          <kbd>A</kbd> {props.names[0]} <i>·</i> <kbd class="b">B</kbd> {props.names[1]} <i>·</i>{" "}
          {count(times(props.a).length)} and {count(times(props.b).length)} complete steps <i>·</i>{" "}
          <VerdictBadge verdict={verdict()} />
        </p>
      </div>
      <div class="strip">
        <Pair label="Step, mean" unit="ns" a={time(props.a, "mean_ns")} b={time(props.b, "mean_ns")} />
        <Pair label="Step, p50" unit="ns" a={time(props.a, "p50_ns")} b={time(props.b, "p50_ns")} />
        <Pair label="Step, p90" unit="ns" a={time(props.a, "p90_ns")} b={time(props.b, "p90_ns")} />
        <Pair
          label="GPU utilization"
          unit="ratio"
          a={device(props.a, "gpu_utilization_ratio")}
          b={device(props.b, "gpu_utilization_ratio")}
        />
        <Pair
          label="Est. SM efficiency"
          unit="ratio"
          a={device(props.a, "est_sm_efficiency_ratio")}
          b={device(props.b, "est_sm_efficiency_ratio")}
        />
        <Pair
          label="Memory growth"
          unit="bytes"
          a={device(props.a, "memory_growth_bytes")}
          b={device(props.b, "memory_growth_bytes")}
        />
      </div>
      <div class="cols compare-grid">
        <section class="panel">
          <header>
            <h2>Change from A to B by class</h2>
            <span class="what">mean ms per step; the bars add up to the change</span>
          </header>
          <div class="chart">
            <Bridge a={classMeans(props.a.summary)} b={classMeans(props.b.summary)} height={236} />
          </div>
        </section>
        <section class="panel">
          <header>
            <h2>Every step</h2>
            <span class="what">ms, line at p50</span>
          </header>
          <div class="chart">
            <Show
              when={times(props.a).length > 0 && times(props.b).length > 0}
              fallback={
                <p class="nothing">
                  One run has no complete step. Call <code>prof.step()</code> after each iteration.
                </p>
              }
            >
              <StepDots a={times(props.a)} b={times(props.b)} height={236} />
            </Show>
          </div>
        </section>
      </div>
      <div class="cols halves">
        <ChangeTable
          title="Operators"
          what="host self, ms per step, largest change first"
          rows={operators()}
          names={props.names}
          isKernel={false}
        />
        <ChangeTable title="Kernels" what="total, ms per step" rows={kernels()} names={props.names} isKernel />
      </div>
    </div>
  );
}

/** A time that leads to the operator or kernel in its run. */
function InRun(props: {
  run: string | undefined;
  row: Changed;
  count: number;
  isKernel: boolean;
  children: JSX.Element;
}): JSX.Element {
  const address = () =>
    pageAddress(props.isKernel ? "kernels" : "operators", {
      run: props.run,
      rank: undefined,
      window: undefined,
      steps: undefined,
      from: undefined,
      to: undefined,
      sel: props.row.name,
    });
  return (
    <Show when={props.count > 0} fallback={props.children}>
      <a class="plain-link" href={address()} title={`Show in ${props.run}`}>
        {props.children}
      </a>
    </Show>
  );
}

function VerdictBadge(props: { verdict: Verdict }): JSX.Element {
  const tone = () => (props.verdict.word === "beyond noise" ? "good" : "warn");
  return (
    <span class={`badge ${tone()}`}>
      <Icon name={props.verdict.word === "beyond noise" ? "check" : "triangle"} size={14} />
      {props.verdict.word}
      {props.verdict.p === null ? "" : props.verdict.p < 0.001 ? ", p < 0.001" : `, p = ${props.verdict.p.toFixed(3)}`}
    </span>
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

function signed(by: number, write: (size: number) => string): string {
  const size = write(Math.abs(by));
  return by === 0 ? "no change" : size.startsWith("<") ? size : `${by < 0 ? "−" : "+"}${size}`;
}

function ChangeTable(props: {
  title: string;
  what: string;
  rows: Changed[];
  /** The two runs. */
  names: string[];
  isKernel: boolean;
}): JSX.Element {
  const ms = { ...formatOfHeader("ns", "ms")!, isFigure: false } as const;
  const largest = () => Math.max(1, ...props.rows.map((row) => Math.abs(row.b - row.a)));
  const names = createMemo(() => (props.isKernel ? kernelLabels(props.rows.map((row) => row.name)) : new Map()));
  return (
    <section class="panel">
      <header>
        <h2>{props.title}</h2>
        <span class="what">{props.what}</span>
        <span class="more">
          {props.rows.filter((row) => row.countA > 0).length} in A, {props.rows.filter((row) => row.countB > 0).length}{" "}
          in B
        </span>
      </header>
      <div class="scrolled" role="region" tabindex="0" aria-label={props.title}>
        <table>
          <thead>
            <tr>
              <th>{props.isKernel ? "Kernel" : "Operator"}</th>
              <th class="num">{props.isKernel ? "count" : "calls"}, A → B</th>
              <th class="num">A</th>
              <th class="num">B</th>
              <th>
                <span class="hidden-text">bar</span>
              </th>
              <th class="num">change ↓</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.rows.slice(0, SHOWN)}>
              {(row) => (
                <tr>
                  <td class="grid-cell wide">
                    <Ends text={names().get(row.name) ?? row.name} whole={row.name} />
                  </td>
                  <td class="num" classList={{ zero: row.countA === row.countB }}>
                    {row.countA === row.countB
                      ? figureText("plain", row.countA)
                      : `${figureText("plain", row.countA)} → ${figureText("plain", row.countB)}`}
                  </td>
                  <td class="num">
                    <InRun run={props.names[0]} row={row} count={row.countA} isKernel={props.isKernel}>
                      {show(ms, Math.round(row.a))}
                    </InRun>
                  </td>
                  <td class="num">
                    <InRun run={props.names[1]} row={row} count={row.countB} isKernel={props.isKernel}>
                      {show(ms, Math.round(row.b))}
                    </InRun>
                  </td>
                  <td>
                    <span class="both-ways">
                      <i
                        class={row.b < row.a ? "less" : "more"}
                        style={{ width: `${(50 * Math.abs(row.b - row.a)) / largest()}%` }}
                      />
                    </span>
                  </td>
                  <td class="num">
                    {signed(Math.round(row.b - row.a), (by) => show(ms, by)).replace("no change", "0")}
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </section>
  );
}
