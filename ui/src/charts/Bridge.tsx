// From A to B by class: two columns, and between them one bar per class. The bars add up.
import { createMemo, createSignal, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { classLabel, tintedClass } from "../format/names";
import { formatOfHeader, show } from "../format/number";
import { bridge, SEVERAL, type ClassChange, type Column } from "./bridge_columns";
import { ticks, tickText, type TimeUnit } from "./scale";

const TOP = 24;
const BOTTOM = 26;
const LEFT = 36;
/** What a column with its label needs. */
const SLOT_PX = 66;

export function Bridge(props: { classes: ClassChange[]; unit: TimeUnit; height: number }): JSX.Element {
  let frame!: HTMLDivElement;
  const [width, setWidth] = createSignal(600);
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  const columns = createMemo(() => bridge(props.classes, Math.max(1, Math.floor((width() - LEFT) / SLOT_PX) - 2)));
  const most = () =>
    Math.max(1, ...columns().flatMap((column) => column.pieces.map((piece) => Math.max(piece.from, piece.to))));
  const y = (ns: number) => TOP + (props.height - TOP - BOTTOM) * (1 - ns / most());
  const slot = () => (width() - LEFT) / columns().length;
  const bar = () => Math.min(52, slot() * 0.66);
  const x = (place: number) => LEFT + slot() * place + (slot() - bar()) / 2;
  const above = (column: Column) => Math.max(...column.pieces.flatMap((piece) => [piece.from, piece.to]), 0);
  return (
    <div class="step-chart" ref={frame}>
      <svg width={width()} height={props.height} role="img" aria-label="Time per step from A to B by class">
        <For each={ticks(0, most() / props.unit.ns, 4)}>
          {(tick) => (
            <g class="axis">
              <line x1={LEFT} x2={width()} y1={Math.round(y(tick * props.unit.ns)) + 0.5} y2={Math.round(y(tick * props.unit.ns)) + 0.5} />
              <text x={LEFT - 10} y={y(tick * props.unit.ns) + 4} text-anchor="end">
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
                    fill={fillOf(piece.name)}
                    stroke={tintedClass(piece.name) && `var(--${tintedClass(piece.name)})`}
                  >
                    <title>{`${column.isWhole ? classLabel(piece.name) : column.title}: ${written(column, piece.to - piece.from, props.unit)} ${props.unit.symbol}`}</title>
                  </rect>
                )}
              </For>
              <text class="total" x={x(place()) + bar() / 2} y={y(above(column)) - 7} text-anchor="middle">
                {written(column, column.value, props.unit)}
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
                  y1={y(column.level)}
                  y2={y(column.level)}
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

function fillOf(name: string): string {
  if (name === SEVERAL) return "var(--ink-3)";
  return name === "other" ? "url(#bridge-hatch)" : `var(--${name})`;
}

/** A whole as it is, a change with its sign. */
function written(column: Column, ns: number, unit: TimeUnit): string {
  const format = { ...formatOfHeader("ns", unit.symbol)!, isFigure: true };
  const size = show(format, Math.round(Math.abs(ns)));
  return column.isWhole ? size : `${ns < 0 ? "−" : "+"}${size}`;
}
