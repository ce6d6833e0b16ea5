// What the selected span is, what launched it, and how it compares to others of its name.
import { For, Show, type JSX } from "solid-js";
import { frameLabel, innermostFirst } from "../format/frames";
import { columnLabel, shapeLabel } from "../format/names";
import { count, exactTime, figureText } from "../format/number";
import type { Cell, SpanDetails, SpanRow, TimelineOutline } from "../server/types";
import { copyText } from "../shell/Toast";
import { fromZero } from "../state/session";
import { pageAddress } from "../state/route";
import { Swatch } from "../report/cells";
import { shortName } from "./short_name";

/** Columns that only tie rows together, or that are shown in words of their own. */
const PLUMBING = new Set(
  `position phase rank window depth name start_ns dur_ns args kind stream device grid block blocks step self_ns
   input_shape input_type correlation link stack call_stack`.split(/\s+/),
);
const isPlumbing = (name: string) => PLUMBING.has(name) || /_(id|index)$|^(grid|block)_[xyz]$/.test(name);

const CLASS_OF_KIND: Record<string, string> = {
  kernel: "kernel",
  memcpy: "memcpy",
  memset: "memset",
  rt: "runtime",
  op: "cpu_exec",
};

export type SpanPaneActions = { select: (row: SpanRow) => void; next: () => void; mark: () => void };

export function SpanPane(props: {
  details: SpanDetails;
  outline: TimelineOutline;
  actions: SpanPaneActions;
}): JSX.Element {
  const span = () => props.details.span;
  const kind = () => String(span().kind ?? "");
  const name = () => shortName(kind(), String(span().name));
  return (
    <div class="pane">
      <section tabindex="0" aria-label="Selected span">
        <h2 class="mono title">
          <Swatch name={CLASS_OF_KIND[kind()] ?? "other"} />
          <span title={String(span().name)}>{name()}</span>
        </h2>
        <dl>
          <For each={facts(span(), props.outline)}>
            {([label, value]) => (
              <>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </>
            )}
          </For>
        </dl>
      </section>
      <section tabindex="0" aria-label="Linked events">
        <Connections details={props.details} outline={props.outline} actions={props.actions} />
      </section>
      <section>
        <h2>Same name in this trace</h2>
        <dl>
          <dt>Count</dt>
          <dd>{count(props.details.same_name.count)}</dd>
          <dt>Total</dt>
          <dd>{figureText("ns", props.details.same_name.total_ns)}</dd>
          <dt>Min · mean · max</dt>
          <dd>
            {[
              props.details.same_name.min_ns,
              Math.round(props.details.same_name.total_ns / Math.max(1, props.details.same_name.count)),
              props.details.same_name.max_ns,
            ]
              .map((ns) => figureText("ns", ns))
              .join(" · ")}
          </dd>
        </dl>
        <div class="buttons">
          <button class="btn" onClick={() => props.actions.next()}>
            Next <kbd>.</kbd>
          </button>
          <button class="btn" onClick={() => props.actions.mark()}>
            Mark all
          </button>
          <Show when={kind() === "kernel" || kind() === "op"}>
            <a
              class="btn"
              href={pageAddress(kind() === "kernel" ? "kernels" : "operators", { sel: String(span().name) })}
            >
              {kind() === "kernel" ? "Kernels" : "Operators"}
            </a>
          </Show>
        </div>
      </section>
    </div>
  );
}

/** What is known of a span, in the order people ask. */
function facts(span: SpanRow, outline: TimelineOutline): [string, string][] {
  const found: [string, string][] = [
    ["Duration", exactTime(Number(span.dur_ns))],
    ["Start", exactTime(fromZero(outline, Number(span.start_ns)))],
  ];
  if (span.self_ns !== undefined && span.self_ns !== span.dur_ns && span.kind !== "kernel")
    found.push(["Self", exactTime(Number(span.self_ns))]);
  if (span.stream_id !== undefined)
    found.push(["Stream", `${String(span.stream_id)} on GPU ${String(span.device_id ?? 0)}`]);
  const grid = triple(span, "grid");
  if (grid) found.push(["Grid × block", `${grid} × ${triple(span, "block") ?? "–"}`]);
  if (span.step !== undefined && span.step !== null)
    found.push(["Step", outline.steps.find((step) => step.step === Number(span.step))?.name ?? String(span.step)]);
  if (span.input_shape) found.push(["Input shapes", shapeLabel(String(span.input_shape))]);
  for (const [name, value] of Object.entries(span))
    if (!isPlumbing(name) && value !== null) found.push([labelOf(name), valueOf(name, value)]);
  return [...found, ...argumentsOf(span)];
}

function triple(span: SpanRow, name: string): string | undefined {
  const whole = span[name];
  if (typeof whole === "string") return whole.replaceAll(/[[\]\s]/g, "").replaceAll(",", "×");
  const sizes = ["x", "y", "z"].map((axis) => span[`${name}_${axis}`]);
  return sizes[0] === undefined ? undefined : sizes.map(String).join("×");
}

function labelOf(name: string): string {
  return columnLabel({ name, label: null, unit: "plain", look: "value", class: null, from_width: 0 });
}

function valueOf(name: string, value: Cell): string {
  if (typeof value !== "number" && typeof value !== "bigint")
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  const unit = name.endsWith("_ns")
    ? "ns"
    : name.endsWith("_bytes")
      ? "bytes"
      : name.endsWith("_ratio")
        ? "ratio"
        : "plain";
  return figureText(unit, value);
}

/** The arguments that have no column of their own. */
function argumentsOf(span: SpanRow): [string, string][] {
  if (typeof span.args !== "string") return [];
  try {
    return Object.entries(JSON.parse(span.args) as Record<string, unknown>).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
  } catch {
    return [["args", span.args]];
  }
}

function Connections(props: { details: SpanDetails; outline: TimelineOutline; actions: SpanPaneActions }): JSX.Element {
  const details = () => props.details;
  const delay = () => {
    const { launch, span } = details();
    return launch ? Number(span.start_ns) - Number(launch.start_ns) - Number(launch.dur_ns) : undefined;
  };
  return (
    <>
      <h2>{details().launch ? "Launched by" : details().kernels.length > 0 ? "Launches" : "Connections"}</h2>
      <dl>
        <Show when={details().operator}>
          {(row) => <Linked label="Operator" row={row()} select={props.actions.select} />}
        </Show>
        <Show when={details().operator?.input_shape}>
          <dt>Input shapes</dt>
          <dd class="mono">{shapeLabel(String(details().operator?.input_shape))}</dd>
        </Show>
        <Show when={details().launch}>
          {(row) => <Linked label="Call" row={row()} select={props.actions.select} />}
        </Show>
        <Show when={delay() !== undefined}>
          <dt>Launch delay</dt>
          <dd>
            {(delay() ?? 0) >= 0
              ? `${exactTime(delay() ?? 0)} from end of call to start`
              : `starts ${exactTime(-(delay() ?? 0))} before the call ends`}
          </dd>
        </Show>
        <Show when={details().forward}>
          {(row) => <Linked label="Forward" row={row()} select={props.actions.select} />}
        </Show>
        <For each={details().kernels.slice(0, 8)}>
          {(row, place) => (
            <Linked label={place() === 0 ? "Device work" : ""} row={row} select={props.actions.select} />
          )}
        </For>
        <Show when={details().kernels.length > 8}>
          <dt />
          <dd class="faint">and {details().kernels.length - 8} more</dd>
        </Show>
      </dl>
      <Show when={!details().launch && !details().operator && !details().forward && details().kernels.length === 0}>
        <p class="faint">No recorded links to other events.</p>
      </Show>
      <Show when={details().stack.length > 0}>
        <CallStack stack={innermostFirst(details().stack)} />
      </Show>
    </>
  );
}

/** Frames from the innermost to the outermost; the whole path of each is its title, and can be copied. */
function CallStack(props: { stack: string[] }): JSX.Element {
  return (
    <div class="frames">
      <h3>
        Call stack <span class="faint">innermost first</span>
        <button
          class="plain-link right"
          title="Copy the frames with full paths"
          onClick={() => void copyText(props.stack.join("\n"), "Call stack")}
        >
          Copy
        </button>
      </h3>
      <ol class="mono">
        <For each={props.stack}>{(frame) => <li title={frame}>{frameLabel(frame)}</li>}</For>
      </ol>
    </div>
  );
}

function Linked(props: { label: string; row: SpanRow; select: (row: SpanRow) => void }): JSX.Element {
  return (
    <>
      <dt>{props.label}</dt>
      <dd>
        <button
          class="mono plain-link name"
          title={String(props.row.name)}
          onClick={() => props.select(props.row)}
        >
          {shortName(String(props.row.kind ?? ""), String(props.row.name))}
        </button>
        <span class="faint">, {exactTime(Number(props.row.dur_ns))}</span>
      </dd>
    </>
  );
}
