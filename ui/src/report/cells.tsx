// One cell of a table, by the look that the server asks for.
import { createMemo, For, Match, Show, Switch, type JSX } from "solid-js";
import { classLabel, CLASSES, tintedClass } from "../format/names";
import { numberOf } from "../format/number";
import { BETWEEN_FRAMES, framesOf } from "../format/stack_labels";
import { written } from "../format/say";
import type { Cell, Sentence } from "../server/types";
import { Icon, type IconName } from "../shell/icons";
import { cellText, type ShownColumn } from "./columns";
import { sparkBars } from "./sparks";

/** Characters at the end of a name that never go. */
const TAIL = 14;
const LONGEST_TAIL = 48;

/** A name that loses its middle when there is no room; `tail` is how many characters at its end stay. */
export function Ends(props: { text: string; whole?: string; tail?: number }): JSX.Element {
  const tail = () => Math.min(LONGEST_TAIL, props.tail ?? TAIL);
  const cut = () => (props.text.length > tail() + TAIL ? props.text.length - tail() : props.text.length);
  return (
    <span class="ends" title={props.whole ?? props.text}>
      <span>{props.text.slice(0, cut())}</span>
      <span>{props.text.slice(cut())}</span>
    </span>
  );
}

/** A mark beside a figure that may be off, with the reason. */
export function Doubt(props: { reason: Sentence }): JSX.Element {
  return (
    <span class="doubt" role="img" title={written(props.reason)} aria-label={`Uncertain: ${written(props.reason)}`}>
      △
    </span>
  );
}

export function CellView(props: {
  shown: ShownColumn;
  cell: Cell;
  row: Cell[];
  classPlace: number;
  /** What a click on a picture of the row does. */
  open?: () => void;
}): JSX.Element {
  const look = () => props.shown.column.look;
  const value = () => numberOf(props.cell);
  const whole = () => framesOf(String(props.row[props.shown.whole ?? -1] ?? props.cell)).join("\n");
  return (
    <Switch fallback={<Plain shown={props.shown} cell={props.cell} />}>
      <Match when={props.cell === null || props.cell === undefined}>
        <Null reason={props.shown.reason} />
      </Match>
      <Match when={props.shown.whole !== undefined && typeof props.cell === "string"}>
        <Ends text={String(props.cell)} whole={whole()} tail={lastPart(String(props.cell))} />
      </Match>
      <Match when={(look() === "operator" || look() === "kernel") && typeof props.cell === "string"}>
        <Ends
          text={cellText(props.shown, props.cell)}
          whole={String(props.cell)}
          tail={differenceLength(cellText(props.shown, props.cell)) ?? placeLength(props.cell as string)}
        />
      </Match>
      <Match when={look() === "class"}>
        <ClassName name={String(props.cell)} />
      </Match>
      <Match when={look() === "bar" && value() !== null}>
        <Plain shown={props.shown} cell={props.cell} />
        <Show when={value() !== 0}>
          <i
            class="share"
            style={{
              width: `${(70 * Math.abs(value() ?? 0)) / (props.shown.largest || 1)}%`,
              background: `var(--${props.shown.column.class ?? "ink-2"})`,
            }}
          />
        </Show>
      </Match>
      <Match when={look() === "length" && value() !== null}>
        <Bar
          ratio={(value() ?? 0) / (props.shown.largest || 1)}
          color={`var(--${String(props.row[props.classPlace] ?? "ink-2")})`}
        />
      </Match>
      <Match when={look() === "stack" && Array.isArray(props.cell)}>
        <Show
          when={props.open}
          fallback={<Stack parts={props.cell as number[]} largest={props.shown.largest} />}
        >
          {(open) => (
            <button
              class="picture"
              tabindex="-1"
              title="Show in timeline"
              onClick={(event) => {
                event.stopPropagation();
                open()();
              }}
            >
              <Stack parts={props.cell as number[]} largest={props.shown.largest} />
            </button>
          )}
        </Show>
      </Match>
      <Match when={look() === "spark" && Array.isArray(props.cell)}>
        <Sparks values={props.cell as number[]} />
      </Match>
      <Match when={look() === "severity"}>
        <Severity level={String(props.cell)} />
      </Match>
    </Switch>
  );
}

/** The length of what tells a kernel apart from others of its short name. */
function differenceLength(text: string): number | undefined {
  const difference = /.{0,4} \[[^\]]*\]$/.exec(text)?.[0].length;
  return difference === undefined ? undefined : Math.max(TAIL, difference);
}

/** The length of a line of code without its folders, `model.py:39 forward`, unless that is long itself. */
function placeLength(text: string): number | undefined {
  const length = /[^/\\]*\.py:\d+ .*$/.exec(text)?.[0].length ?? 0;
  return length > TAIL && length <= 2 * TAIL ? length : undefined;
}

/** The length of what tells a stack apart, which stays in sight. */
function lastPart(text: string): number | undefined {
  const place = text.indexOf(BETWEEN_FRAMES);
  return place < 0 ? undefined : text.length - place;
}

function Plain(props: { shown: ShownColumn; cell: Cell }): JSX.Element {
  const isZero = () => props.shown.isNumber && numberOf(props.cell) === 0;
  const text = () => cellText(props.shown, props.cell);
  // A column of words may be too narrow for them.
  return (
    <span classList={{ zero: isZero() }} title={props.shown.isNumber ? undefined : text()}>
      {text()}
    </span>
  );
}

/** What is not known, with the reason. */
export function Null(props: { reason: string }): JSX.Element {
  return (
    <span class="null" title={props.reason}>
      –<span class="hidden-text"> ({props.reason})</span>
    </span>
  );
}

export function Swatch(props: { name: string }): JSX.Element {
  return <i class="sw" classList={{ hatched: props.name === "other" }} style={fillOf(props.name)} />;
}

/** How a class is drawn: in its color, or as an outlined tint. Other time is hatched, which a class of the page does. */
export function fillOf(name: string): JSX.CSSProperties | undefined {
  if (name === "other") return undefined;
  const tinted = tintedClass(name);
  return {
    background: `var(--${name})`,
    ...(tinted && { "box-shadow": `inset 0 0 0 1px var(--${tinted})` }),
  };
}

/** The two parts of communication, as charts and lanes draw them. */
export function CommunicationKeys(): JSX.Element {
  return (
    <>
      <span>
        <Swatch name="communication" /> Transfer
      </span>
      <span>
        <i class="sw waiting" /> Waiting
      </span>
    </>
  );
}

export function ClassName(props: { name: string }): JSX.Element {
  return (
    <span class="severity">
      <Swatch name={props.name} />
      {classLabel(props.name)}
    </span>
  );
}

export function Bar(props: { ratio: number; color: string }): JSX.Element {
  return (
    <span class="bar-track">
      <i style={{ width: `${100 * Math.min(1, Math.max(0, props.ratio))}%`, background: props.color }} />
    </span>
  );
}

/** The classes of one row on a scale that all rows share. */
export function Stack(props: { parts: number[]; largest: number }): JSX.Element {
  return (
    <span class="stack">
      <For each={props.parts}>
        {(part, place) => (
          <Show when={part > 0}>
            <i
              classList={{ hatched: CLASSES[place()] === "other" }}
              title={`${classLabel(CLASSES[place()] ?? "")}: ${(
                (100 * part) /
                Math.max(
                  1,
                  props.parts.reduce((a, b) => a + b, 0),
                )
              ).toFixed(1)} %`}
              style={{
                width: `${(100 * part) / (props.largest || 1)}%`,
                background: CLASSES[place()] === "other" ? undefined : `var(--${CLASSES[place()]})`,
              }}
            />
          </Show>
        )}
      </For>
    </span>
  );
}

export function Sparks(props: { values: number[] }): JSX.Element {
  const bars = createMemo(() => sparkBars(props.values));
  const largest = () => Math.max(1, ...bars().values);
  const least = () => Math.min(...bars().values) * 0.75;
  const height = (value: number) => 30 + (70 * (value - least())) / Math.max(1, largest() - least());
  return (
    <span class="sparks" aria-hidden="true" title={bars().note}>
      <For each={bars().values}>{(value) => <i style={{ height: `${height(value)}%` }} />}</For>
    </span>
  );
}

const SEVERITIES: Record<string, { icon: IconName; tone: string }> = {
  high: { icon: "octagon", tone: "bad" },
  medium: { icon: "triangle", tone: "warn" },
  low: { icon: "info", tone: "ink-3" },
};

export function Severity(props: { level: string; isGlyph?: boolean }): JSX.Element {
  const known = () => SEVERITIES[props.level] ?? SEVERITIES.low!;
  return (
    <span class="severity" style={{ color: `var(--${known().tone})` }} title={props.level}>
      <Icon name={known().icon} size={15} />
      <span classList={{ "hidden-text": props.isGlyph }}>{props.level}</span>
    </span>
  );
}
