// From A to B by class: two columns, and between them one bar a class. The bars add up.
import { createSignal, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { classLabel, CLASSES } from "../format/names";
import { formatOfHeader, show } from "../format/number";
import { ticks, tickText } from "./scale";

const TOP = 24;
const BOTTOM = 26;
const LEFT = 36;
const SHORT: Record<string, string> = { cpu_exec: "CPU exec.", communication: "Comm." };

type Piece = { name: string; from: number; to: number };
type Column = { label: string; isWhole: boolean; pieces: Piece[]; value: string; above: number; link: number };

export function Bridge(props: { a: number[]; b: number[]; height: number }): JSX.Element {
  let frame!: HTMLDivElement;
  const [width, setWidth] = createSignal(600);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  const columns = () => bridge(props.a, props.b);
  const most = () =>
    Math.max(1, ...columns().flatMap((column) => column.pieces.map((piece) => Math.max(piece.from, piece.to))));
  const y = (ns: number) => TOP + (props.height - TOP - BOTTOM) * (1 - ns / most());
  const slot = () => (width() - LEFT) / columns().length;
  const bar = () => Math.min(52, slot() * 0.66);
  const x = (place: number) => LEFT + slot() * place + (slot() - bar()) / 2;
  return (
    <div class="step-chart" ref={frame}>
      <svg width={width()} height={props.height} role="img" aria-label="Time per step from A to B by class">
        <For each={ticks(0, most() / 1e6, 4)}>
          {(tick) => (
            <g class="axis">
              <line x1={LEFT} x2={width()} y1={Math.round(y(tick * 1e6)) + 0.5} y2={Math.round(y(tick * 1e6)) + 0.5} />
              <text x={LEFT - 10} y={y(tick * 1e6) + 4} text-anchor="end">
                {tickText(tick)}
              </text>
            </g>
          )}
        </For>
        <For each={columns()}>
          {(column, place) => (
            <g>
              <For each={column.pieces}>
                {(piece) => (
                  <rect
                    x={x(place())}
                    width={bar()}
                    y={y(Math.max(piece.from, piece.to))}
                    height={Math.max(1.5, Math.abs(y(piece.from) - y(piece.to)) - (column.isWhole ? 1 : 0))}
                    fill={piece.name === "other" ? "url(#bridge-hatch)" : `var(--${piece.name})`}
                  />
                )}
              </For>
              <text class="total" x={x(place()) + bar() / 2} y={y(column.above) - 7} text-anchor="middle">
                {column.value}
              </text>
              <text
                class="step"
                x={x(place()) + bar() / 2}
                y={props.height - 8}
                text-anchor="middle"
                font-weight={column.isWhole ? "600" : undefined}
              >
                {column.label}
              </text>
              <Show when={place() < columns().length - 1}>
                <line
                  class="link"
                  x1={x(place()) + bar()}
                  x2={x(place() + 1)}
                  y1={y(column.link)}
                  y2={y(column.link)}
                />
              </Show>
            </g>
          )}
        </For>
        <defs>
          <pattern id="bridge-hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="1.6" height="4" fill="var(--other)" />
          </pattern>
        </defs>
      </svg>
    </div>
  );
}

/** A, then classes by how much they change, then B. */
export function bridge(a: number[], b: number[]): Column[] {
  const format = { ...formatOfHeader("ns", "ms")!, isFigure: true };
  const signed = (by: number) => `${by < 0 ? "−" : "+"}${show(format, Math.round(Math.abs(by)))}`;
  let level = sum(a);
  const changes = CLASSES.map((name, place) => ({ name, by: b[place]! - a[place]! }))
    .filter((each) => each.by !== 0)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by))
    .map(({ name, by }): Column => {
      const from = level;
      level += by;
      return {
        label: SHORT[name] ?? classLabel(name),
        isWhole: false,
        pieces: [{ name, from, to: level }],
        value: signed(by),
        above: Math.max(from, level),
        link: level,
      };
    });
  return [whole("A", a), ...changes, whole("B", b)];
}

function whole(label: string, times: number[]): Column {
  const format = { ...formatOfHeader("ns", "ms")!, isFigure: true };
  let level = 0;
  const pieces = times
    .map((ns, place): Piece => ({ name: CLASSES[place]!, from: level, to: (level += ns) }))
    .filter((piece) => piece.to > piece.from);
  return { label, isWhole: true, pieces, value: show(format, Math.round(level)), above: level, link: level };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
