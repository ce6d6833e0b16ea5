// Where each step goes: one column per step, the classes stacked in their fixed order. Above so many steps columns touch
// and lose their labels; above the pixels there are, a column is the mean of several steps with a whisker.
import { createMemo, createSignal, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { classLabel, CLASSES, stepMark, stepNumber } from "../format/names";
import { figureText, formatOfHeader, show } from "../format/number";
import { ticks, tickText } from "./scale";
import {
  barNote,
  chartUnit,
  stepBars,
  textWidth,
  UNIT_NS,
  widestTotal,
  type ChartStep,
  type StepBar,
} from "./step_bars";

const TOP = 22;
const BOTTOM = 24;
const LEAST_LEFT = 34;
/** Between the longest label of the axis and the first bar. */
const LABEL_GAP = 10;
const VALUE_FROM_PX = 18;
const LABELED_STEPS = 60;
const SMALLEST_BAR_PX = 3;

export function StepChart(props: {
  steps: ChartStep[];
  chosen?: { first: number; last: number };
  choose: (first: number, last: number) => void;
  height: number;
}): JSX.Element {
  const [width, setWidth] = createSignal(460);
  const [hovered, setHovered] = createSignal<number>();
  const [pressed, setPressed] = createSignal<number>();
  let frame!: HTMLDivElement;
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  const longest = createMemo(() => props.steps.reduce((most, step) => Math.max(most, step.dur), 1));
  const unit = () => chartUnit(longest());
  const axis = createMemo(() => ticks(0, longest() / UNIT_NS[unit()], 4));
  const left = createMemo(() =>
    axis().reduce((most, tick) => Math.max(most, textWidth(tickText(tick), 11) + LABEL_GAP), LEAST_LEFT),
  );
  const bars = createMemo(() => stepBars(props.steps, Math.floor((width() - left()) / SMALLEST_BAR_PX)));
  const most = longest;
  const inner = () => props.height - TOP - BOTTOM;
  const y = (ns: number) => TOP + inner() * (1 - ns / most());
  const slot = () => (width() - left()) / bars().length;
  const isDense = createMemo(
    () => bars().length > LABELED_STEPS || slot() < Math.max(30, widestTotal(bars(), unit()) + 4),
  );
  const barWidth = () => (isDense() ? Math.max(1, slot() - (slot() > 5 ? 1 : 0)) : Math.min(64, slot() * 0.62));
  const x = (place: number) => left() + slot() * place + (slot() - barWidth()) / 2;
  const total = () => formatOfHeader("ns", unit())!;
  const inBar = () => ({ ...total(), decimals: 1, isFigure: false }) as ReturnType<typeof total>;
  const unitNs = () => UNIT_NS[unit()];
  /** Values of a class stand in all columns or in none. */
  const isValueShown = createMemo(() =>
    CLASSES.map((_, place) => {
      const fits = (share: number) =>
        (inner() * share) / most() >= VALUE_FROM_PX && textWidth(show(inBar(), Math.round(share)), 11) <= barWidth();
      return !isDense() && bars().every((bar) => fits(bar.shares[place] ?? 0));
    }),
  );
  const place = (event: PointerEvent) =>
    Math.min(bars().length - 1, Math.max(0, Math.floor((event.offsetX - left()) / slot())));
  const isDim = (bar: StepBar) =>
    props.chosen !== undefined && (bar.last.step < props.chosen.first || bar.first.step > props.chosen.last);

  return (
    <div class="step-chart" ref={frame}>
      <svg
        width={width()}
        height={props.height}
        role="img"
        aria-label={`Time of ${props.steps.length} steps by class`}
        onPointerMove={(event) => setHovered(place(event))}
        onPointerLeave={() => (setHovered(undefined), setPressed(undefined))}
        onPointerDown={(event) => setPressed(place(event))}
        onPointerUp={(event) => {
          const [from, to] = [pressed() ?? place(event), place(event)].sort((a, b) => a - b) as [number, number];
          setPressed(undefined);
          props.choose(bars()[from]!.first.step, bars()[to]!.last.step);
        }}
      >
        <For each={axis()}>
          {(tick) => (
            <g class="axis">
              <line
                x1={left()}
                x2={width()}
                y1={Math.round(y(tick * unitNs())) + 0.5}
                y2={Math.round(y(tick * unitNs())) + 0.5}
              />
              <text x={left() - 10} y={y(tick * unitNs()) + 4} text-anchor="end">
                {tickText(tick)}
              </text>
            </g>
          )}
        </For>
        <text class="axis-unit" x={left() - 10} y={10} text-anchor="end">
          {unit()}
        </text>
        <For each={bars()}>
          {(bar, at) => (
            <g classList={{ dim: isDim(bar), dense: isDense(), incomplete: !bar.isComplete }}>
              <For each={pieces(bar)}>
                {(piece) => (
                  <>
                    <rect
                      x={x(at())}
                      width={barWidth()}
                      y={y(piece.to)}
                      height={Math.max(0, y(piece.from) - y(piece.to) - (isDense() ? 0 : 1))}
                      class={piece.name === "other" ? "other" : undefined}
                      fill={piece.name === "other" ? "url(#hatch)" : `var(--${piece.name})`}
                    />
                    <Show when={isValueShown()[piece.place]}>
                      <text
                        class="inside"
                        classList={{ "on-hatch": piece.name === "other" }}
                        style={{ fill: piece.name === "other" ? "var(--ink)" : `var(--on-${piece.name})` }}
                        x={x(at()) + barWidth() / 2}
                        y={(y(piece.from) + y(piece.to)) / 2 + 4}
                        text-anchor="middle"
                      >
                        {show(inBar(), Math.round(piece.to - piece.from))}
                      </text>
                    </Show>
                  </>
                )}
              </For>
              <Show when={bar.first !== bar.last}>
                <line
                  class="whisker"
                  x1={x(at()) + barWidth() / 2}
                  x2={x(at()) + barWidth() / 2}
                  y1={y(bar.most)}
                  y2={y(bar.least)}
                />
              </Show>
              <Show when={!isDense()}>
                <text class="total" x={x(at()) + barWidth() / 2} y={y(bar.dur) - 7} text-anchor="middle">
                  {show(total(), bar.dur)}
                </text>
                <text class="step" x={x(at()) + barWidth() / 2} y={props.height - 6} text-anchor="middle">
                  {stepMark(bar.first.name)}
                </text>
              </Show>
            </g>
          )}
        </For>
        <Show when={hovered() !== undefined}>
          <rect
            class="hover"
            x={left() + slot() * Math.min(hovered()!, pressed() ?? hovered()!)}
            width={slot() * (Math.abs(hovered()! - (pressed() ?? hovered()!)) + 1)}
            y={0}
            height={props.height - BOTTOM}
          />
        </Show>
        <defs>
          <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="1.6" height="4" fill="var(--other)" />
          </pattern>
        </defs>
      </svg>
      <Show when={barNote(bars())}>{(note) => <p class="chart-note">{note()}</p>}</Show>
      <Show when={isDense() && hovered() !== undefined && bars()[hovered()!]}>
        {(bar) => <div class="reading">{reading(bar())}</div>}
      </Show>
    </div>
  );
}

function reading(bar: StepBar): string {
  const name =
    bar.first === bar.last
      ? stepMark(bar.first.name)
      : `${stepMark(bar.first.name)}–${stepNumber(bar.last.name)}, mean`;
  const largest = bar.shares.indexOf(Math.max(...bar.shares));
  const time = (ns: number) => figureText("ns", Math.round(ns));
  const most = classLabel(CLASSES[largest] ?? "other").toLowerCase();
  const spread =
    bar.size > 1 ? ` · min ${time(bar.least)}, median ${time(bar.median)}, max ${time(bar.most)}` : "";
  return `${name} · ${time(bar.dur)}${spread} · ${most} ${time(bar.shares[largest] ?? 0)}`;
}

function pieces(bar: StepBar): { name: string; place: number; from: number; to: number }[] {
  let from = 0;
  return bar.shares
    .map((share, place) => ({ name: CLASSES[place] ?? "other", place, from, to: (from += share) }))
    .filter((piece) => piece.to > piece.from);
}
