// Every step of two recordings on one axis, with a line at the median: a dot each, or columns where there are many.
import { createMemo, createSignal, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { stepMark } from "../format/names";
import { count, figureText } from "../format/number";
import { densityColumns, MOST_DOTS } from "./density";
import { ticks, tickText, type TimeUnit } from "./scale";
import { textWidth } from "./step_bars";

export type Dot = { name: string; dur: number };

const BOTTOM = 26;
const LEFT = 36;
const RIGHT = 20;
const COLUMN_PX = 3;
const COLUMN_TALL_PX = 56;

export function StepDots(props: { a: Dot[]; b: Dot[]; unit: TimeUnit; height: number }): JSX.Element {
  let frame!: HTMLDivElement;
  const [width, setWidth] = createSignal(380);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  const bounds = createMemo(() => {
    let [least, most] = [Infinity, -Infinity];
    for (const { dur } of [...props.a, ...props.b]) [least, most] = [Math.min(least, dur), Math.max(most, dur)];
    const margin = (most - least) * 0.08;
    return { least: least - margin, most: most + margin + 1 };
  });
  const inner = () => Math.max(1, width() - LEFT - RIGHT);
  const x = (ns: number) => LEFT + ((ns - bounds().least) / (bounds().most - bounds().least)) * inner();
  const middle = (place: number) => (props.height - BOTTOM) * (place === 0 ? 0.3 : 0.75);
  /** Dots of one row are spread a little, always in the same way, so that they do not hide each other. */
  const spread = (place: number) => ((place * 7) % 5) * 8 - 16;
  const axis = createMemo(() => ticks(bounds().least / props.unit.ns, bounds().most / props.unit.ns, Math.min(5, inner() / 60)));
  /** A label in the middle of its place, but never over an edge. */
  const within = (center: number, text: string) => {
    const half = textWidth(text) / 2;
    return Math.min(width() - half, Math.max(LEFT + half, center));
  };
  return (
    <div class="step-chart" ref={frame}>
      <svg width={width()} height={props.height} role="img" aria-label="Time of every step of A and B">
        <For each={axis()}>
          {(tick) => (
            <g class="axis">
              <line x1={x(tick * props.unit.ns)} x2={x(tick * props.unit.ns)} y1={0} y2={props.height - BOTTOM} />
              <text x={x(tick * props.unit.ns)} y={props.height - 8} text-anchor="middle">
                {tickText(tick)}
              </text>
            </g>
          )}
        </For>
        <For each={[props.a, props.b]}>
          {(dots, place) => {
            const half = createMemo(() => median(dots));
            const text = () => figureText("ns", half());
            return (
              <g>
                <text class="total" x={10} y={middle(place()) + 4}>
                  {place() === 0 ? "A" : "B"}
                </text>
                <line class="rule" x1={LEFT} x2={width()} y1={middle(place())} y2={middle(place())} />
                <Show
                  when={dots.length > MOST_DOTS}
                  fallback={
                    <For each={dots}>
                      {(dot, at) => (
                        <circle
                          class={place() === 0 ? "dot a" : "dot b"}
                          cx={x(dot.dur)}
                          cy={middle(place()) + spread(at())}
                          r="5"
                        >
                          <title>
                            {stepMark(dot.name)}: {figureText("ns", dot.dur)}
                          </title>
                        </circle>
                      )}
                    </For>
                  }
                >
                  <For each={densityColumns(dots.map((dot) => dot.dur), bounds(), Math.floor(inner() / COLUMN_PX))}>
                    {(column) => (
                      <rect
                        class={place() === 0 ? "column dot a" : "column dot b"}
                        x={x(column.from)}
                        width={COLUMN_PX - 1}
                        y={middle(place()) - (COLUMN_TALL_PX * column.height) / 2}
                        height={COLUMN_TALL_PX * column.height}
                      >
                        <title>{`${count(column.steps)} ${column.steps === 1 ? "step" : "steps"} from ${figureText("ns", Math.round(column.from))} to ${figureText("ns", Math.round(column.to))}`}</title>
                      </rect>
                    )}
                  </For>
                </Show>
                <line
                  class="median"
                  x1={x(half())}
                  x2={x(half())}
                  y1={middle(place()) - 34}
                  y2={middle(place()) + 34}
                />
                <text class="total" x={within(x(half()), text())} y={middle(place()) - 40} text-anchor="middle">
                  {text()}
                </text>
              </g>
            );
          }}
        </For>
      </svg>
      <Show when={Math.max(props.a.length, props.b.length) > MOST_DOTS}>
        <p class="chart-note">column height: number of steps with that time</p>
      </Show>
    </div>
  );
}

function median(dots: Dot[]): number {
  const sorted = dots.map((dot) => dot.dur).sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length / 2) - 1)] ?? 0;
}
