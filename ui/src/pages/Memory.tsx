// Memory: its curve, what is alive at its peak, who allocates it and what is never freed.
import { createMemo, For, lazy, Match, Show, Switch, type JSX } from "solid-js";
import { figureText, numberOf } from "../format/number";
import { factsOf, said, say, written } from "../format/say";
import { MemoryChart, type Curve } from "../charts/MemoryChart";
import { analysis, curves as askCurves } from "../server/questions";
import type { PageEntry, Report, SeriesPart } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { EmptyState } from "../shell/states";
import { lossDoubt } from "../state/health";
import { choose, pageAddress } from "../state/route";
import { fromZero, run, scope, source, sourceKey, timelineOutline } from "../state/session";
import { Lede, SmallTable, Stat } from "../report/parts";
import { cellNamed, headline, reasonOf, tableNamed } from "../report/table";
import { isSnapshot } from "./memory_snapshot";

const MemorySnapshot = lazy(() => import("./MemorySnapshot"));

export function Memory(props: { entry: PageEntry }): JSX.Element {
  const question = createMemo(() => {
    const [name, parameters] = [run()?.run, scope()];
    return name !== undefined && parameters ? { run: name, parameters } : undefined;
  });
  const [report, retry] = createAnswer(question, (asked) => analysis(asked.run, "memory", asked.parameters));
  return (
    <Answer
      of={report}
      retry={retry}
      waiting={
        <div class="page">
          <Lede />
        </div>
      }
    >
      {(report) => (
        <Switch fallback={<EmptyState {...props.entry.page.empty} />}>
          <Match when={isSnapshot(report())}>
            <MemorySnapshot report={report()} />
          </Match>
          <Match when={(tableNamed(report(), "devices")?.rows.length ?? 0) > 0}>
            <MemoryOf report={report()} />
          </Match>
        </Switch>
      )}
    </Answer>
  );
}

function MemoryOf(props: { report: Report }): JSX.Element {
  const devices = () => tableNamed(props.report, "devices")!;
  const peakName = () =>
    devices().rows.some((_, row) => cellNamed(devices(), row, "peak_allocated_bytes") !== null)
      ? "peak_allocated_bytes"
      : "peak_delta_bytes";
  /** The device with the highest peak; memory of the host only if there is no other. */
  const highest = createMemo(() => {
    const weight = (row: number) =>
      (cellNamed(devices(), row, "device") === "cpu" ? -1 : 1) *
      (1 + (numberOf(cellNamed(devices(), row, peakName())) ?? 0));
    return devices().rows.reduce((best, _, row) => (weight(row) > weight(best) ? row : best), 0);
  });
  const device = () => String(cellNamed(devices(), highest(), "device"));
  const figure = (name: string) => cellNamed(devices(), highest(), name);
  const number = (name: string) => numberOf(figure(name));
  const steps = () => source()?.complete_steps ?? 0;
  const facts = () =>
    factsOf([
      device(),
      source()?.devices[0],
      say`${said("plain", steps())} complete steps`,
      say`${figureText("plain", figure("events"))} allocator events`,
      figure("paired") === null ? undefined : `${figureText("plain", figure("paired"))} freed`,
    ]);
  const unused = () => {
    const [reserved, allocated] = [number("peak_reserved_bytes"), number("peak_allocated_bytes")];
    return reserved === null || allocated === null || reserved === 0
      ? null
      : { bytes: reserved - allocated, share: (reserved - allocated) / reserved };
  };
  const reason = () =>
    reasonOf(props.report, (path) => path.includes("peak")) ?? "memory totals not recorded";
  const openReason = () =>
    reasonOf(props.report, (path) => path.endsWith("alloc_without_free")) ?? "addresses not recorded";
  return (
    <div class="page">
      <Lede sentence={headline(props.report)} facts={facts()} doubt={lossDoubt()} />
      <div class="strip">
        <Show
          when={figure("peak_allocated_bytes") !== null}
          fallback={
            <Stat label="Largest growth" unit="bytes" value={figure("peak_delta_bytes")} note="since the first event" />
          }
        >
          <Stat
            label="Peak allocated"
            unit="bytes"
            value={figure("peak_allocated_bytes")}
            note={`at ${figureText("ns", figure("peak_allocated_from_start_ns"))} from the first event`}
          />
        </Show>
        <Stat label="Peak reserved" unit="bytes" value={figure("peak_reserved_bytes")} reason={reason()} />
        <Stat
          label="Reserved, unused at peak"
          unit="bytes"
          value={unused()?.bytes ?? null}
          reason={reason()}
          note={unused() ? `${figureText("ratio", unused()!.share)} of reserved` : undefined}
        />
        <Stat
          label={`Growth over ${steps()} steps`}
          unit="bytes"
          value={figure("net_bytes")}
          note={number("net_bytes") === 0 ? "ends as it began" : "last event minus first"}
        />
        <Stat
          label="Total allocated"
          unit="bytes"
          value={figure("allocated_bytes")}
          note={`${figureText("plain", figure("allocations"))} allocations`}
        />
        <Stat
          label="Not freed"
          unit="plain"
          value={figure("alloc_without_free")}
          reason={openReason()}
          note={
            figure("alloc_without_free") === null
              ? undefined
              : `of ${figureText("plain", figure("allocations"))} recorded`
          }
        />
      </div>
      <CurvePanel report={props.report} device={device()} />
      <div class="cols memory-grid">
        <Show when={tableNamed(props.report, "at_peak")}>
          {(alive) => (
            <section class="panel">
              <header>
                <h2>Alive at the peak</h2>
                <span class="what">{alive().notes.map(written).join(", ")}</span>
              </header>
              <div class="scrolled" role="region" tabindex="0" aria-label="Alive at the peak">
                <SmallTable table={alive()} missing={props.report.missing} />
              </div>
            </section>
          )}
        </Show>
        <section class="panel">
          <header>
            <h2>By operator</h2>
            <span class="what">{tableNamed(props.report, "rows")?.notes.map(written).join(", ")}</span>
            <a class="more plain-link" href={pageAddress("operators")}>
              Operators
            </a>
          </header>
          <div class="scrolled" role="region" tabindex="0" aria-label={"Rows"}>
            <SmallTable
              table={tableNamed(props.report, "rows")!}
              missing={props.report.missing}
              most={50}
              isShown={(column) =>
                ["name", "device", "self_increase_bytes", "self_allocations", "self_allocated_bytes"].includes(
                  column.name,
                ) && column.look !== "hidden"
              }
            />
          </div>
        </section>
        <div class="column">
          <section class="panel">
            <header>
              <h2>Never freed</h2>
              <span class="what">in this trace, largest first</span>
            </header>
            <Show
              when={(tableNamed(props.report, "open_allocations")?.rows.length ?? 0) > 0}
              fallback={
                <p class="nothing">
                  {figure("alloc_without_free") === null
                    ? `Not known: ${openReason()}.`
                    : "Every recorded allocation is freed."}
                </p>
              }
            >
              <div class="scrolled" role="region" tabindex="0" aria-label={"Rows"}>
                <SmallTable
                  table={tableNamed(props.report, "open_allocations")!}
                  missing={props.report.missing}
                  most={50}
                />
              </div>
            </Show>
          </section>
          <Show when={tableNamed(props.report, "allocators")}>
            {(allocators) => (
              <section class="panel">
                <header>
                  <h2>Allocators</h2>
                  <span class="what">what each can give</span>
                </header>
                <SmallTable table={allocators()} missing={props.report.missing} />
              </section>
            )}
          </Show>
          <Show when={devices().rows.length > 1}>
            <section class="panel">
              <header>
                <h2>Devices</h2>
              </header>
              <SmallTable
                table={devices()}
                missing={props.report.missing}
                isShown={(column) => DEVICE_COLUMNS.includes(column.name)}
              />
            </section>
          </Show>
        </div>
      </div>
    </div>
  );
}

const DEVICE_COLUMNS = [
  "device",
  "peak_allocated_bytes",
  "peak_delta_bytes",
  "allocations",
  "allocated_bytes",
  "alloc_without_free",
];

/** Columns of the curve; the server keeps up to four points of each. */
const CURVE_COLUMNS = 600;

const COLORS: Record<string, { color: string; isDashed: boolean }> = {
  allocated: { color: "--kernel", isDashed: false },
  reserved: { color: "--ink-2", isDashed: true },
};

function CurvePanel(props: { report: Report; device: string }): JSX.Element {
  const outline = () => timelineOutline();
  const series = () =>
    props.report.parts.filter(
      (part): part is SeriesPart => part.kind === "series" && part.name.startsWith(`${props.device}_`),
    );
  // The report is thinned out for a terminal. Of a chosen step it has the part, which a range would not tell.
  const question = createMemo(() => {
    const [key, parameters] = [sourceKey(), scope()];
    return key && parameters && parameters.step === undefined
      ? { key, from: Number(parameters.from ?? 0), to: Number(parameters.to ?? outline()?.end_ns ?? 0) + 1 }
      : undefined;
  });
  const [fine] = createAnswer(question, ({ key, from, to }, signal) =>
    askCurves(key, from, to, CURVE_COLUMNS, signal),
  );
  const pointsOf = (part: SeriesPart): [number, number][] => {
    const isFine = question() !== undefined && !part.name.endsWith("_reserved_bytes");
    const curve = fine.latest?.curves.find((curve) => curve.kind === "memory" && curve.place === props.device);
    return isFine && curve ? curve.points : part.points;
  };
  const curves = (): Curve[] =>
    series().map((part) => {
      const label = part.name
        .slice(props.device.length + 1)
        .replace(/_bytes$/, "")
        .replaceAll("_", " ");
      const zero = outline()?.zero_ns ?? 0;
      return {
        label,
        ...(COLORS[label] ?? COLORS.allocated!),
        points: pointsOf(part).map(([time, bytes]) => [time - zero, bytes]),
      };
    });
  const steps = () =>
    (outline()?.steps ?? []).map((step) => ({
      name: step.name,
      from: fromZero(outline()!, step.start_ns),
      to: fromZero(outline()!, step.end_ns),
      isComplete: step.complete,
    }));
  const peak = () => {
    const main = curves().find((curve) => !curve.isDashed);
    const best = main?.points.reduce((best, point) => (point[1] > best[1] ? point : best), main.points[0] ?? [0, 0]);
    return best && { time: best[0], bytes: best[1] };
  };
  return (
    <Show when={curves().length > 0}>
      <section class="panel">
        <header>
          <h2>
            {curves()
              .map((curve) => curve.label)
              .join(" and ")
              .replace(/^./, (letter) => letter.toUpperCase())}
          </h2>
          <For each={curves()}>
            {(curve) => (
              <span class="what curve-key">
                <i classList={{ dashed: curve.isDashed }} style={{ "border-color": `var(${curve.color})` }} />
                {curve.label}
              </span>
            )}
          </For>
          <span class="more">drag to select a range, double-click to clear</span>
        </header>
        <MemoryChart
          curves={curves()}
          steps={steps()}
          peak={peak()}
          height={286}
          choose={(from, to) => choose({ from: String(Math.round(from)), to: String(Math.round(to)) })}
          clear={() => choose({ from: undefined, to: undefined })}
        />
      </section>
    </Show>
  );
}
