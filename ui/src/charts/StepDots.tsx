// Every step of two recordings as a dot on one axis, with a line at the median.
import { createSignal, For, onCleanup, onMount, type JSX } from "solid-js";
import { stepMark } from "../format/names";
import { figure, figureText } from "../format/number";
import { ticks, tickText } from "./scale";

export type Dot = { name: string; dur: number };

const BOTTOM = 26;
const LEFT = 36;

export function StepDots(props: { a: Dot[]; b: Dot[]; height: number }): JSX.Element {
  let frame!: HTMLDivElement;
  const [width, setWidth] = createSignal(380);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  const all = () => [...props.a, ...props.b].map((dot) => dot.dur);
  const least = () => Math.min(...all()) - (Math.max(...all()) - Math.min(...all())) * 0.08;
  const most = () => Math.max(...all()) + (Math.max(...all()) - Math.min(...all())) * 0.08 + 1;
  const x = (ns: number) => LEFT + ((ns - least()) / (most() - least())) * (width() - LEFT - 20);
  const middle = (place: number) => (props.height - BOTTOM) * (place === 0 ? 0.3 : 0.75);
  /** Dots of one row are spread a little, always in the same way, so that they do not hide each other. */
  const spread = (place: number) => ((place * 7) % 5) * 8 - 16;
  return (
    <div class="step-chart" ref={frame}>
      <svg width={width()} height={props.height} role="img" aria-label="Time of every step of A and B">
        <For each={ticks(least() / 1e6, most() / 1e6, 5)}>
          {(tick) => (
            <g class="axis">
              <line x1={x(tick * 1e6)} x2={x(tick * 1e6)} y1={0} y2={props.height - BOTTOM} />
              <text x={x(tick * 1e6)} y={props.height - 8} text-anchor="middle">
                {tickText(tick)}
              </text>
            </g>
          )}
        </For>
        <For each={[props.a, props.b]}>
          {(dots, place) => (
            <g>
              <text class="total" x={10} y={middle(place()) + 4}>
                {place() === 0 ? "A" : "B"}
              </text>
              <line class="rule" x1={LEFT} x2={width()} y1={middle(place())} y2={middle(place())} />
              <line
                class="median"
                x1={x(median(dots))}
                x2={x(median(dots))}
                y1={middle(place()) - 34}
                y2={middle(place()) + 34}
              />
              <text class="total" x={x(median(dots))} y={middle(place()) - 40} text-anchor="middle">
                {figure("ns", median(dots)).digits}
              </text>
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
            </g>
          )}
        </For>
      </svg>
    </div>
  );
}

function median(dots: Dot[]): number {
  const sorted = dots.map((dot) => dot.dur).sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length / 2) - 1)] ?? 0;
}
