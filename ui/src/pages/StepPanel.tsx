// Step breakdown: a column per step, a legend with values, and the device along the recording.
import { createMemo, createSignal, For, onCleanup, Show, type JSX } from "solid-js";
import { BusyStrip } from "../charts/BusyStrip";
import { apart } from "../charts/scale";
import { StepChart } from "../charts/StepChart";
import { chartUnit, textWidth, type ChartStep } from "../charts/step_bars";
import { classLabel, stepMark } from "../format/names";
import { figureText, formatOfHeader, numberOf, show } from "../format/number";
import { Bar, Swatch } from "../report/cells";
import { SmallTable } from "../report/parts";
import { cellNamed, tableNamed } from "../report/table";
import { analysis } from "../server/questions";
import type { Report, TablePart } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { choose, pageAddress } from "../state/route";
import { chosenSteps, fromZero, sourceKey, stepsAddress, timelineOutline } from "../state/session";
import { createWhole } from "../timeline/whole";

export function StepPanel(props: { summary: Report }): JSX.Element {
  const question = createMemo(() => {
    const key = sourceKey();
    return key ? { run: key.run, parameters: { rank: key.rank, window: key.window } } : undefined;
  });
  const [report, retry] = createAnswer(question, (asked) => analysis(asked.run, "steps", asked.parameters));
  const several = () => (tableNamed(props.summary, "devices")?.rows.length ?? 0) > 1;
  return (
    <section class="panel wide">
      <header>
        <h2>Step breakdown</h2>
        <span class="what">each instant counted once</span>
        <Show when={chosenSteps()}>
          <a class="plain-link" href={pageAddress("timeline", { view: undefined })}>
            Show in timeline
          </a>
        </Show>
        <a class="more plain-link" href={pageAddress("steps")}>
          Steps table
        </a>
      </header>
      <div class="step-panel">
        <Answer of={report} retry={retry} waiting={<div class="step-chart" />}>
          {(report) => {
            const steps = createMemo(() => chartSteps(report()));
            return (
              <Show
                when={steps().length > 0}
                fallback={
                  <p class="nothing">
                    No steps recorded. Call <code>prof.step()</code> after each iteration.
                  </p>
                }
              >
                <StepChart
                  steps={steps()}
                  chosen={chosenSteps()}
                  height={window.innerHeight >= 1000 ? 330 : 264}
                  choose={(first, last) => choose({ steps: stepsAddress(first, last) })}
                />
              </Show>
            );
          }}
        </Answer>
        <Legend table={tableNamed(props.summary, "breakdown")} />
      </div>
      <Show when={several()}>
        <SmallTable table={tableNamed(props.summary, "devices")!} missing={props.summary.missing} />
      </Show>
      <BusyAlong />
    </section>
  );
}

function chartSteps(report: Report): ChartStep[] {
  const table = tableNamed(report, "rows");
  return (table?.rows ?? []).map((_, row) => {
    const shares = cellNamed(table, row, "shares");
    return {
      step: numberOf(cellNamed(table, row, "step")) ?? row,
      name: String(cellNamed(table, row, "name") ?? row),
      dur: numberOf(cellNamed(table, row, "dur_ns")) ?? 0,
      shares: Array.isArray(shares) ? shares : [],
      isComplete: cellNamed(table, row, "is_complete") !== false,
    };
  });
}

/** A legend that is a table: color, value, share. */
function Legend(props: { table: TablePart | undefined }): JSX.Element {
  const rows = () =>
    (props.table?.rows ?? []).map((_, row) => ({
      name: String(cellNamed(props.table, row, "class")),
      ns: cellNamed(props.table, row, "mean_ns"),
      share: cellNamed(props.table, row, "share_ratio"),
    }));
  const unit = () => chartUnit(total());
  const format = () => formatOfHeader("ns", unit())!;
  const total = () => rows().reduce((sum, row) => sum + (numberOf(row.ns) ?? 0), 0);
  /** The largest class that is not computing: what there is to gain. */
  const most = () =>
    rows()
      .filter((row) => row.name !== "kernel")
      .reduce((best, row) => ((numberOf(row.ns) ?? 0) > (numberOf(best?.ns ?? null) ?? 0) ? row : best), rows()[1]);
  return (
    <Show when={props.table}>
      <table class="legend">
        <thead>
          <tr>
            <th>Class</th>
            <th class="num">{unit()} per step</th>
            <th>
              <span class="hidden-text">bar</span>
            </th>
            <th class="num">share</th>
          </tr>
        </thead>
        <tbody>
          <For each={rows()}>
            {(row) => (
              <tr classList={{ most: row.name === most()?.name, zero: numberOf(row.ns) === 0 }}>
                <td>
                  <span class="severity">
                    <Swatch name={row.name} />
                    {classLabel(row.name)}
                  </span>
                </td>
                <td class="num">{show(format(), row.ns)}</td>
                <td>
                  <Bar
                    ratio={numberOf(row.share) ?? 0}
                    color={row.name === "other" ? "var(--other)" : `var(--${row.name})`}
                  />
                </td>
                <td class="num">{show({ kind: "percent" }, row.share)}</td>
              </tr>
            )}
          </For>
          <tr class="whole">
            <td>Step</td>
            <td class="num">{show(format(), total())}</td>
            <td />
            <td class="num">100 %</td>
          </tr>
        </tbody>
      </table>
    </Show>
  );
}

const MARKED_STEPS = 24;
const MARK_GAP_PX = 10;

/** How busy the device is along the recording. */
function BusyAlong(): JSX.Element {
  const whole = createWhole();
  const [width, setWidth] = createSignal(0);
  const follow = (element: HTMLElement) => {
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    onCleanup(() => observer.disconnect());
  };
  const bounds = () => {
    const outline = timelineOutline();
    if (!outline) return undefined;
    // What lies outside of the steps is the profiler starting and stopping.
    const [first, last] = [outline.steps[0], outline.steps.at(-1)];
    return {
      from: fromZero(outline, first?.start_ns ?? outline.start_ns),
      to: fromZero(outline, last?.end_ns ?? outline.end_ns),
    };
  };
  const marks = () => {
    const [outline, range] = [timelineOutline(), bounds()];
    if (!outline || !range || outline.steps.length > MARKED_STEPS) return [];
    const places = outline.steps.map((step) => ({
      step,
      left: (100 * (fromZero(outline, step.start_ns) - range.from)) / (range.to - range.from),
    }));
    const label = Math.max(...places.map(({ step }) => textWidth(stepMark(step.name), 11))) + MARK_GAP_PX;
    return apart(places, (100 * label) / Math.max(1, width()));
  };
  const isDevice = () => timelineOutline()?.tracks.some((track) => track.kind === "stream");
  return (
    <Show when={bounds()}>
      {(bounds) => (
        <div class="busy">
          <div class="caption">
            {isDevice() ? "GPU busy over time" : "Busiest thread over time"}{" "}
            <span class="faint">{figureText("ns", Math.round((bounds().to - bounds().from) / 600))} buckets</span>
          </div>
          <a href={pageAddress("timeline")} aria-label="Open the timeline">
            <BusyStrip
              whole={whole.error ? undefined : whole.latest}
              range={bounds()}
              label="How busy the device is over time"
            />
          </a>
          <div class="marks" ref={follow}>
            <For each={marks()}>
              {(mark) => (
                <a style={{ left: `${mark.left}%` }} href={pageAddress("timeline", { steps: String(mark.step.number) })}>
                  {stepMark(mark.step.name)}
                </a>
              )}
            </For>
          </div>
        </div>
      )}
    </Show>
  );
}
