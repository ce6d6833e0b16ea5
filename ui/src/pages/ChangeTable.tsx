// One table of a comparison: A, B and the change of each row. What noise can explain is gray.
import { createMemo, For, Show, type JSX } from "solid-js";
import { kernelLabels } from "../format/kernel_labels";
import { counted } from "../format/names";
import { count, figureText, formatOf, numberOf, show, symbolOf, type Format } from "../format/number";
import { signed } from "../format/signed";
import { ClassName, Ends, Null } from "../report/cells";
import type { Cell } from "../server/types";
import { pageAddress } from "../state/route";
import type { Side } from "./ask_comparison";
import { withRest, type ChangeRow, type ChangeTable as Table, type Sums } from "./comparison";

const SHOWN = 40;

type Write = (value: number) => string;

export function ChangeTable(props: {
  table: Table;
  a: Side;
  b: Side;
  /** What stands in place of a missing name, by class. */
  meanings: Map<string, string>;
}): JSX.Element {
  const rows = () => props.table.rows;
  const parts = createMemo(() => withRest(rows(), SHOWN));
  const format = createMemo(() => formatOf(props.table.unit, rows().flatMap((row) => [row.a, row.b])));
  const pairFormats = createMemo(() =>
    props.table.pairs.map(([, unit], place) => formatOf(unit, rows().flatMap((row) => (row.pairs[place] ?? []).map(rounded)))),
  );
  /** What fills a bar; a change of less than a hundredth of the largest value never does. */
  const largest = createMemo(() => {
    const most = (of: (row: ChangeRow) => Cell) =>
      rows().reduce((most, row) => Math.max(most, Math.abs(numberOf(of(row)) ?? 0)), 1);
    return Math.max(most((row) => row.change), most((row) => row.a) / 100, most((row) => row.b) / 100);
  });
  const labels = createMemo(() => {
    const kernels = rows().filter((row) => props.table.isKernel || row.page === "kernels");
    return kernelLabels(kernels.flatMap((row) => [row.name, row.nameInB]).filter((name) => name !== null));
  });
  const label = (name: string) => labels().get(name) ?? name;
  const repeated = createMemo(() => {
    const seen = new Set<string | null>();
    return new Set(rows().flatMap(({ name }) => (seen.has(name) ? [name] : (seen.add(name), []))));
  });
  const hasClass = () => rows().some((row) => row.class !== null);
  // Peaks are large and may change by little: each has its own unit.
  const write = (value: number) => (props.table.unit === "bytes" ? figureText("bytes", value) : show(format(), value));
  const unit = () => (props.table.unit === "ns" ? `${symbolOf(format())} per step` : "");
  return (
    <section class="panel changes" classList={{ wide: props.table.isWide }}>
      <header>
        <h2>{props.table.title}</h2>
        <span class="what">{[props.table.what, unit()].filter(Boolean).join(", ")}</span>
        <span class="more">{noiseInWords(rows())}</span>
      </header>
      <div class="scrolled" role="region" tabindex="0" aria-label={props.table.title}>
        <table>
          <thead>
            <tr>
              <Show when={hasClass()}>
                <th>Class</th>
              </Show>
              <th>{props.table.noun}</th>
              <For each={props.table.pairs}>
                {([label], place) => (
                  <th class="num">
                    {[`${label}, A → B`, symbolOf(pairFormats()[place()]!)].filter(Boolean).join(", ")}
                  </th>
                )}
              </For>
              <th class="num">A</th>
              <th class="num">B</th>
              <th>
                <span class="hidden-text">bar</span>
              </th>
              <th class="num">Change</th>
            </tr>
          </thead>
          <tbody>
            <For each={parts().first}>
              {(row) => (
                <tr classList={{ noisy: row.noise === "within noise", changed: row.noise === "changed" }}>
                  <Show when={hasClass()}>
                    <td>
                      <Show when={row.class}>{(name) => <ClassName name={name()} />}</Show>
                    </td>
                  </Show>
                  <td class="grid-cell wide">
                    <Name
                      row={row}
                      label={label}
                      of={repeated().has(row.name) ? row.of : null}
                      meaning={props.meanings.get(row.class ?? "")}
                    />
                  </td>
                  <For each={row.pairs}>
                    {(pair, place) => (
                      <td class="num" classList={{ zero: pair[0] === pair[1] }}>
                        {pairText(pair, pairFormats()[place()]!)}
                      </td>
                    )}
                  </For>
                  <td class="num">
                    <InRun side={props.a} row={row} name={row.name} value={row.a}>
                      <Value cell={row.a} write={write} />
                    </InRun>
                  </td>
                  <td class="num">
                    <InRun side={props.b} row={row} name={row.nameInB ?? row.name} value={row.b}>
                      <Value cell={row.b} write={write} />
                    </InRun>
                  </td>
                  <td>
                    <ChangeBar change={numberOf(row.change) ?? 0} largest={largest()} />
                  </td>
                  <td class="num change" title={row.noise}>
                    <Change cell={row.change} write={write} />
                    <span class="hidden-text"> {row.noise}</span>
                  </td>
                </tr>
              )}
            </For>
            <Show when={parts().rest}>
              {(rest) => (
                <SumRow
                  label={counted(rest().count, "more rows")}
                  columns={props.table.pairs.length}
                  hasClass={hasClass()}
                  sums={rest()}
                  write={write}
                />
              )}
            </Show>
            <Show when={props.table.total}>
              {(total) => (
                <SumRow
                  label="Step"
                  isWhole
                  columns={props.table.pairs.length}
                  hasClass={hasClass()}
                  sums={total()}
                  write={write}
                />
              )}
            </Show>
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What the colors of the rows mean, if they mean something. */
function noiseInWords(rows: ChangeRow[]): string {
  const tested = rows.filter((row) => row.noise !== undefined);
  if (tested.length === 0) return "";
  if (tested.every((row) => row.noise === "not tested")) return "not tested for noise";
  const changed = tested.filter((row) => row.noise === "changed").length;
  if (changed === 0) return "all within noise";
  return changed === tested.length ? `${changed} changed` : `${changed} changed, others within noise`;
}

function Name(props: {
  row: ChangeRow;
  label: (name: string) => string;
  of: string | null;
  meaning: string | undefined;
}): JSX.Element {
  return (
    <Show when={props.row.name} fallback={<span class="faint">{props.meaning ?? "without a name"}</span>}>
      {(name) => (
        <span class="named">
          <Ends text={props.label(name())} whole={name()} tail={lastPartLength(name())} />
          <Show when={props.row.nameInB}>
            {(after) => (
              <>
                <span>→</span>
                <Ends text={props.label(after())} whole={after()} />
              </>
            )}
          </Show>
          <Show when={props.of}>{(of) => <span class="of faint">{of()}</span>}</Show>
        </span>
      )}
    </Show>
  );
}

/** What a path loses at least before its end does. */
const PATH_START = 15;

/** The length of the module that a path ends in, which stays in sight. */
function lastPartLength(name: string): number | undefined {
  const place = /^\w+(\/\w+)+$/.test(name) ? name.lastIndexOf("/") : -1;
  return place < 0 ? undefined : Math.min(name.length - place, Math.max(1, name.length - PATH_START));
}

/** A value that leads to the operator or kernel in its run, if it is there. */
function InRun(props: {
  side: Side;
  row: ChangeRow;
  name: string | null;
  value: Cell;
  children: JSX.Element;
}): JSX.Element {
  const address = (page: string) =>
    pageAddress(page, {
      run: props.side.run.run,
      rank: asText(props.side.source?.rank),
      window: asText(props.side.source?.window),
      steps: undefined,
      from: undefined,
      to: undefined,
      sel: props.name ?? undefined,
    });
  return (
    <Show when={numberOf(props.value) ? props.row.page : undefined} fallback={props.children}>
      {(page) => (
        <a class="plain-link" href={address(page())} title={`Show in ${props.side.run.run}`}>
          {props.children}
        </a>
      )}
    </Show>
  );
}

function SumRow(props: {
  label: string;
  isWhole?: boolean;
  columns: number;
  hasClass: boolean;
  sums: Sums;
  write: Write;
}): JSX.Element {
  return (
    <tr classList={{ whole: props.isWhole, rest: !props.isWhole }}>
      <td colspan={(props.hasClass ? 2 : 1) + props.columns}>{props.label}</td>
      <td class="num">
        <Value cell={props.sums.a} write={props.write} />
      </td>
      <td class="num">
        <Value cell={props.sums.b} write={props.write} />
      </td>
      <td />
      <td class="num change">
        <Change cell={props.sums.change} write={props.write} />
      </td>
    </tr>
  );
}

function Value(props: { cell: Cell; write: Write }): JSX.Element {
  return (
    <Show when={props.cell !== null} fallback={<Null reason="not recorded" />}>
      <span classList={{ zero: props.cell === 0 }}>{props.write(Math.round(numberOf(props.cell) ?? 0))}</span>
    </Show>
  );
}

function Change(props: { cell: Cell; write: Write }): JSX.Element {
  return (
    <Show when={props.cell !== null} fallback={<Null reason="not recorded in both runs" />}>
      {signed(Math.round(numberOf(props.cell) ?? 0), props.write)}
    </Show>
  );
}

function ChangeBar(props: { change: number; largest: number }): JSX.Element {
  return (
    <span class="both-ways">
      <i
        class={props.change < 0 ? "less" : "more"}
        style={{ width: `${(50 * Math.abs(props.change)) / props.largest}%` }}
      />
    </span>
  );
}

function pairText([a, b]: [Cell, Cell], format: Format): string {
  const [before, after] = [pairedText(a, format), pairedText(b, format)];
  return before === after ? before : `${before} → ${after}`;
}

/** Counts per step have decimals only if they need them. */
function pairedText(cell: Cell, format: Format): string {
  const value = numberOf(cell);
  if (format.kind !== "decimal" || value === null) return show(format, rounded(cell));
  return Number.isInteger(value) ? count(value) : show({ kind: "decimal", decimals: 1 }, value);
}

/** Means have digits that no unit shows. */
function rounded(cell: Cell): Cell {
  return typeof cell === "number" && Math.abs(cell) >= 1000 ? Math.round(cell) : cell;
}

const asText = (number: number | undefined) => (number === undefined ? undefined : String(number));
