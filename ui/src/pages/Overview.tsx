// The answer on one screen: the sentence, the figures that prove it, and a way to the evidence.
import { createMemo, For, Show, type JSX } from "solid-js";
import { figure, figureText, numberOf } from "../format/number";
import { kernelLabels } from "../format/kernel_labels";
import { analysis } from "../server/questions";
import { factsOf, words } from "../format/say";
import type { Cell, Missing, Report, Sentence, TablePart, TextPart } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { rowCount } from "../shell/counts";
import { HealthBadge, healthText } from "../shell/HealthSheet";
import { healthFigures, lossDoubt, operatorDoubt } from "../state/health";
import { pageAddress, type Page } from "../state/route";
import { chosenSteps, run, scope, source, sourceKey } from "../state/session";
import { Bar, Doubt, Ends, Null } from "../report/cells";
import { Lede, SmallTable, Stat } from "../report/parts";
import { cellNamed, headline, reasonOf, tableNamed, textFor } from "../report/table";
import { Said } from "../report/Said";
import { Findings } from "./Findings";
import { StepPanel } from "./StepPanel";

const NO_COMPLETE_STEP = "No complete step in this trace. Call prof.step() after each iteration.";

export function Overview(): JSX.Element {
  const question = createMemo(() => {
    const [name, parameters] = [run()?.run, scope()];
    return name !== undefined && parameters ? { run: name, parameters } : undefined;
  });
  const [summary, retry] = createAnswer(question, (asked) => analysis(asked.run, "summary", asked.parameters));
  return (
    <div class="page">
      <Answer of={summary} retry={retry} waiting={<Lede />}>
        {(summary) => (
          <>
            <Lede
              sentence={headline(summary()) ?? words(NO_COMPLETE_STEP)}
              facts={headFacts(summary())}
              doubt={lossDoubt()}
            />
            <Show when={onlyTable(summary())} fallback={<StepsAndDevices summary={summary()} />}>
              {(only) => (
                <>
                  <OnlyPanel of={only()} missing={summary().missing} />
                  <Show when={tableNamed(summary(), "findings")}>
                    <Findings breakdown={undefined} />
                  </Show>
                </>
              )}
            </Show>
          </>
        )}
      </Answer>
    </div>
  );
}

/** What a trace of events is made of. */
function StepsAndDevices(props: { summary: Report }): JSX.Element {
  return (
    <>
      <Figures report={props.summary} />
      <div class="cols overview-grid">
        <StepPanel summary={props.summary} />
        <Findings breakdown={tableNamed(props.summary, "breakdown")} />
        <TopRows
          title="Top operators"
          what={topUnit(tableNamed(props.summary, "operators"))}
          page="operators"
          table={tableNamed(props.summary, "operators")}
          doubt={operatorDoubt()}
        />
        <TopRows
          title="Top kernels"
          what="total"
          page="kernels"
          table={tableNamed(props.summary, "kernels")}
          doubt={lossDoubt()}
        />
        <HealthPanel note={textFor(props.summary, "health")} />
      </div>
    </>
  );
}

type OnlyTable = { title: string; what: string; page: Page; more: string; table: TablePart };

/** What a recording without steps and devices is made of: functions of a profile, memory of a snapshot, or regions. */
function onlyTable(summary: Report): OnlyTable | undefined {
  const [functions, regions] = [tableNamed(summary, "functions"), tableNamed(summary, "regions")];
  if (functions) {
    const what = "longest cumulative time";
    return { title: "Functions", what, page: "functions", more: "all", table: functions };
  }
  const lines = tableNamed(summary, "memory_lines");
  if (lines) return { title: "Memory at the peak", what: "by line of code", page: "memory", more: "all", table: lines };
  const what = "longest self time";
  return regions && { title: "Regions", what, page: "timeline", more: "timeline", table: regions };
}

function OnlyPanel(props: { of: OnlyTable; missing: Missing[] }): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>{props.of.title}</h2>
        <span class="what">{props.of.what}</span>
        <a class="more plain-link" href={pageAddress(props.of.page)}>
          {props.of.more}
        </a>
      </header>
      <SmallTable table={props.of.table} missing={props.missing} />
    </section>
  );
}

/** The line of facts: the device, steps, length and events. */
function headFacts(report: Report): Sentence {
  return factsOf([textFor(report, "head")?.lines[1], textFor(report, "compute")?.lines[0]]);
}

/** Six figures: step time, and how well the device is used; without a device, how steps spread. */
function Figures(props: { report: Report }): JSX.Element {
  const times = () => tableNamed(props.report, "step_time");
  const devices = () => tableNamed(props.report, "devices");
  const time = (name: string) => cellNamed(times(), 0, name);
  const ofDevice = (name: string) => cellNamed(devices(), 0, name);
  /** The unit stands once if all three have the same. */
  const spread = () => {
    const all = ["p90_ns", "p99_ns", "mean_ns"].map((name) => ({ name: name.replace("_ns", ""), of: figure("ns", time(name)) }));
    const isSame = all.every(({ of }) => of.symbol === all[0]!.of.symbol);
    return all
      .map(({ name, of }, place) => `${name} ${of.digits}${isSame && place < 2 ? "" : ` ${of.symbol}`}`)
      .join(" · ");
  };
  const each = () => {
    const cell = time("each");
    return Array.isArray(cell) && cell.length > 1 ? cell : undefined;
  };
  const peak = () => ofDevice("memory_peak_bytes");
  /** How much of the kernel time an estimate is made from. */
  const covers = (estimate: string, coverage: string) =>
    ofDevice(estimate) === null ? undefined : `covers ${figureText("ratio", ofDevice(coverage))} of kernel time`;
  return (
    <div class="strip">
      <Stat
        label="Step time, p50"
        doubt={lossDoubt()}
        unit="ns"
        value={time("p50_ns")}
        reason="no complete step"
        spark={each()}
        note={
          each() ? spread() : times() && "the only complete step"
        }
      />
      <Show
        when={devices()}
        fallback={
          <For each={["mean_ns", "min_ns", "p90_ns", "p99_ns", "max_ns"]}>
            {(name) => (
              <Stat
                label={`Step time, ${name.replace("_ns", "")}`}
                doubt={lossDoubt()}
                unit="ns"
                value={time(name)}
                reason="no complete step"
              />
            )}
          </For>
        }
      >
        <Stat
          label="GPU utilization"
          doubt={lossDoubt()}
          unit="ratio"
          value={ofDevice("gpu_utilization_ratio")}
          note={`busy with copies ${figureText("ratio", ofDevice("gpu_busy_ratio"))}`}
        />
        <Stat
          label="Est. SM efficiency"
          unit="ratio"
          value={ofDevice("est_sm_efficiency_ratio")}
          reason={reasonOf(props.report, (path) => path.endsWith("est_sm_efficiency_ratio"))}
          note={covers("est_sm_efficiency_ratio", "blocks_per_sm_coverage_ratio")}
          doubt={lossDoubt()}
        />
        <Stat
          label="Est. occupancy"
          unit="ratio"
          value={ofDevice("est_achieved_occupancy_ratio")}
          reason={reasonOf(props.report, (path) => path.endsWith("est_achieved_occupancy_ratio"))}
          note={covers("est_achieved_occupancy_ratio", "occupancy_coverage_ratio")}
          doubt={lossDoubt()}
        />
        <Stat
          label="Tensor cores"
          doubt={lossDoubt()}
          unit="ratio"
          value={ofDevice("tensor_core_lower_bound_ratio")}
          before="≥ "
          note={ofDevice("tensor_core_lower_bound_ratio") === 0 ? "no kernel name matches" : "from kernel names"}
        />
        <Show
          when={peak() !== null}
          fallback={
            <Stat
              label="Memory growth, peak"
              doubt={lossDoubt()}
              unit="bytes"
              value={ofDevice("memory_growth_bytes")}
              reason={reasonOf(props.report, (path) => path.endsWith("memory_growth_bytes")) ?? "memory not recorded"}
              note={
                ofDevice("memory_growth_bytes") === null ? undefined : (
                  <>
                    total <Null reason={reasonOf(props.report, (path) => path.endsWith("memory_peak_bytes")) ?? "not recorded"} /> not recorded
                  </>
                )
              }
            />
          }
        >
          <Stat
            label="Memory, peak"
            doubt={lossDoubt()}
            unit="bytes"
            value={peak()}
            note={`growth ${figureText("bytes", ofDevice("memory_growth_bytes"))}`}
          />
        </Show>
      </Show>
    </div>
  );
}

function topUnit(table: TablePart | undefined): string {
  return table?.columns.some((column) => column.name === "device_self_ns" && column.look !== "hidden")
    ? "device self"
    : "host self";
}

/** The first rows of a table, one line each. */
function TopRows(props: {
  title: string;
  what: string;
  page: Page;
  table: TablePart | undefined;
  doubt: Sentence | undefined;
}): JSX.Element {
  const column = () => props.table?.columns.find((column) => column.unit === "ns" && column.look !== "hidden");
  const steps = () => {
    const chosen = chosenSteps();
    return chosen ? chosen.last - chosen.first + 1 : (source()?.complete_steps ?? 0);
  };
  const rows = () =>
    (props.table?.rows ?? []).map((_, row) => ({
      name: String(cellNamed(props.table, row, "name")),
      ns: numberOf(cellNamed(props.table, row, column()?.name ?? "")) ?? 0,
    }));
  const names = () => (props.page === "kernels" ? kernelLabels(rows().map((row) => row.name)) : new Map());
  const aStep = (ns: number) => (steps() > 0 ? ns / steps() : ns);
  const largest = () => Math.max(1, ...rows().map((row) => row.ns));
  return (
    <section class="panel">
      <header>
        <h2>{props.title}</h2>
        <span class="what">
          {props.what}
          {steps() > 0 ? ", per step" : ""}
          <Show when={props.doubt}>{(doubt) => <Doubt reason={doubt()} />}</Show>
        </span>
        <a class="more plain-link" href={pageAddress(props.page)}>
          {rowCount(props.page) === undefined ? "all" : `${rowCount(props.page)} ${props.page}`}
        </a>
      </header>
      <Show when={rows().length > 0} fallback={<p class="nothing">None recorded.</p>}>
        <div class="top-rows">
          <For each={rows()}>
            {(row) => (
              <>
                <a href={pageAddress(props.page, { sel: row.name, q: undefined })}>
                  <Ends text={names().get(row.name) ?? row.name} whole={row.name} />
                </a>
                <TwoPart unit="ns" value={Math.round(aStep(row.ns))} />
                <Bar
                  ratio={row.ns / largest()}
                  color={props.what === "host self" ? "var(--cpu_exec)" : "var(--kernel)"}
                />
              </>
            )}
          </For>
        </div>
      </Show>
    </section>
  );
}

function TwoPart(props: { unit: "ns" | "bytes"; value: Cell }): JSX.Element {
  const shown = () => figure(props.unit, props.value);
  return (
    <span class="num">
      {shown().digits}
      <span class="unit">{shown().symbol}</span>
    </span>
  );
}

const HEALTH_FACTS: [string, string][] = [
  ["lost_events", "Events lost"],
  ["operator_coverage_ratio", "Device time with an operator"],
  ["device_events", "Device events"],
  ["unlinked_device_events", "Device events without a launch"],
  ["step_source", "Steps from"],
  ["incomplete_steps", "Incomplete steps"],
];

function HealthPanel(props: { note: TextPart | undefined }): JSX.Element {
  const [report, retry] = createAnswer(sourceKey, (key) =>
    analysis(key.run, "health", { rank: key.rank, window: key.window }),
  );
  return (
    <section class="panel health">
      <header>
        <h2>Trace health</h2>
        <span class="more">
          <Show when={source()}>{(source) => <HealthBadge grade={source().health} />}</Show>
        </span>
      </header>
      <Show when={source()?.health !== "good" && props.note}>
        {(note) => (
          <p class="nothing">
            {note().explains === null ? "" : `${note().explains}: `}
            <For each={note().lines}>
              {(line, place) => (
                <>
                  {place() > 0 ? "\n" : ""}
                  <Said sentence={line} />
                </>
              )}
            </For>
          </p>
        )}
      </Show>
      <Answer of={report} retry={retry}>
        {(report) => {
          const figures = () => healthFigures(report(), sourceKey()?.rank ?? 0, sourceKey()?.window ?? 0);
          const known = () =>
            HEALTH_FACTS.flatMap(([name, label]) =>
              figures()
                .filter((figure) => figure.name === name)
                .map((figure) => ({ figure, label })),
            );
          return (
            <dl class="facts health-facts">
              <dt>Events read</dt>
              <dd>{figureText("plain", source()?.events ?? null)}</dd>
              <For each={known()}>
                {({ figure, label }) => (
                  <>
                    <dt>{label}</dt>
                    <dd>
                      <Show
                        when={figure.value !== null}
                        fallback={<Null reason={String(figure.reason ?? "not recorded")} />}
                      >
                        {healthText(figure)}
                      </Show>
                    </dd>
                  </>
                )}
              </For>
            </dl>
          );
        }}
      </Answer>
    </section>
  );
}
