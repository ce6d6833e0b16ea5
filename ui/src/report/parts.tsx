// The parts of a report besides its main table, each by its kind. A new analysis needs nothing here.
import { createMemo, For, Show, type JSX } from "solid-js";
import { columnLabel, sentenceCase } from "../format/names";
import { figure, numberOf } from "../format/number";
import { capitalized, written } from "../format/say";
import type { Cell, Column, MetricPart, Missing, Sentence, TablePart, Unit } from "../server/types";
import { CellView, Doubt, Null, Sparks } from "./cells";
import { isShownAtFirst, shownColumns } from "./columns";
import { Said } from "./Said";

/** The sentence and one line of facts; why they may be off goes first. */
export function Lede(props: { sentence?: Sentence; facts?: Sentence; doubt?: Sentence }): JSX.Element {
  return (
    <div class="lede">
      <Show when={props.sentence || !props.doubt}>
        <h1>
          <Said sentence={props.sentence ?? []} />
        </h1>
      </Show>
      <Show when={props.doubt}>{(doubt) => <p class="doubtful">△ <Said sentence={capitalized(doubt())} /></p>}</Show>
      <Show when={props.facts?.length ? props.facts : undefined}>
        {(facts) => (
          <p>
            <Said sentence={facts()} />
          </p>
        )}
      </Show>
    </div>
  );
}

/** A figure with its label, a meter if it is a share, and one note. */
export function Stat(props: {
  label: string;
  unit: Unit;
  value: Cell;
  before?: string;
  note?: JSX.Element;
  reason?: string;
  spark?: number[];
  hasMeter?: boolean;
  /** Why the value may be off. */
  doubt?: Sentence;
}): JSX.Element {
  const shown = () => figure(props.unit, props.value);
  const note = () => props.note ?? (props.value === null ? props.reason : undefined);
  const ratio = () => (props.unit === "ratio" || props.hasMeter ? numberOf(props.value) : null);
  return (
    <div class="stat">
      <div class="l" title={props.label}>
        {props.label}
      </div>
      <div class="v">
        <span class="figure">
          <Show when={props.value !== null} fallback={<Null reason={props.reason ?? "not recorded"} />}>
            {props.before}
            {shown().digits}
            <Show when={shown().symbol}>{(symbol) => <u>{symbol()}</u>}</Show>
            <Show when={props.doubt}>{(doubt) => <Doubt reason={doubt()} />}</Show>
          </Show>
        </span>
        <Show when={props.spark}>
          {(values) => (
            <span class="spark">
              <Sparks values={values()} />
            </span>
          )}
        </Show>
      </div>
      <Show when={ratio() !== null}>
        <div class="meter">
          <i style={{ width: `${100 * Math.min(1, Math.max(0, ratio() ?? 0))}%` }} />
        </div>
      </Show>
      <div class="s" title={typeof note() === "string" ? (note() as string) : undefined}>
        {note()}
      </div>
    </div>
  );
}

/** Whether a table is one row of figures, which reads better as a strip. */
export function isStrip(table: TablePart): boolean {
  const shown = table.columns.filter((column) => isShownAtFirst(column, 1200));
  return (
    table.rows.length === 1 &&
    shown.length > 2 &&
    shown.every((column) => column.look === "figure" || column.look === "spark")
  );
}

export function Strip(props: { table: TablePart }): JSX.Element {
  const shown = () =>
    props.table.columns.map((column, place) => ({ column, place })).filter(({ column }) => column.look === "figure");
  return (
    <div class="strip">
      <For each={shown()}>
        {({ column, place }) => (
          <Stat label={columnLabel(column)} unit={column.unit} value={props.table.rows[0]?.[place] ?? null} />
        )}
      </For>
    </div>
  );
}

export function Metrics(props: { metrics: MetricPart[] }): JSX.Element {
  return (
    <Show when={props.metrics.length > 0}>
      <div class="strip">
        <For each={props.metrics}>
          {(metric) => (
            <Stat
              label={columnLabel({
                name: metric.name,
                label: null,
                unit: metric.unit,
                look: "value",
                class: null,
                from_width: 0,
              })}
              unit={metric.unit}
              value={metric.value}
              reason={metric.reason ? written(metric.reason) : undefined}
            />
          )}
        </For>
      </div>
    </Show>
  );
}

/** `STEP BREAKDOWN` → `Step breakdown`: capitals are for terminals. */
export function tableTitle(table: TablePart): string {
  return sentenceCase((table.title ?? table.name.replaceAll("_", " ")).toLowerCase());
}

const MOST_ROWS = 200;

/** A table that is short enough to stand in the page. */
export function SmallTable(props: {
  table: TablePart;
  missing: Missing[];
  isShown?: (column: Column) => boolean;
  most?: number;
  /** Shows what a row is about in the timeline. */
  open?: (row: Cell[]) => void;
}): JSX.Element {
  const columns = createMemo(() =>
    shownColumns(props.table, props.missing, props.isShown ?? ((column) => isShownAtFirst(column, 1200))),
  );
  const classPlace = () => props.table.columns.findIndex((column) => column.look === "class");
  return (
    <table>
      <thead>
        <tr>
          <For each={columns()}>
            {(column) => (
              <th class={column.isNumber ? "num" : ""}>
                {column.label}
                {column.symbol ? `, ${column.symbol}` : ""}
              </th>
            )}
          </For>
          <Show when={props.open}>
            <th>
              <span class="hidden-text">Timeline</span>
            </th>
          </Show>
        </tr>
      </thead>
      <tbody>
        <For each={props.table.rows.slice(0, props.most ?? MOST_ROWS)}>
          {(row) => (
            <tr>
              <For each={columns()}>
                {(column) => (
                  <td class="grid-cell" classList={{ num: column.isNumber, wide: column.width.includes("fr") }}>
                    <CellView shown={column} cell={row[column.place] ?? null} row={row} classPlace={classPlace()} />
                  </td>
                )}
              </For>
              <Show when={props.open}>
                {(open) => (
                  <td class="num">
                    <button class="link" title="Show in timeline" onClick={() => open()(row)}>
                      Show
                    </button>
                  </td>
                )}
              </Show>
            </tr>
          )}
        </For>
      </tbody>
    </table>
  );
}
