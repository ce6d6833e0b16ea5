// What ran in a range: every instant by class, operators by their own time, and the idle time of the device.
import { createMemo, For, Show, type JSX } from "solid-js";
import { classLabel, CLASSES } from "../format/names";
import { exactTime, figureText, formatOfHeader, numberOf, show } from "../format/number";
import { analysis, sql, type SourceKey } from "../server/questions";
import type { TimelineOutline } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { choose, pageAddress } from "../state/route";
import { scope, source as recording } from "../state/session";
import { Ends, Swatch } from "../report/cells";
import { cellNamed, tableNamed, tables } from "../report/table";
import { lengthOf, type Range } from "./view";

const OPERATORS = 7;

export function RangePane(props: {
  range: Range;
  source: SourceKey;
  outline: TimelineOutline;
  actions: { fit: () => void; mark: () => void };
}): JSX.Element {
  const statement = createMemo(() =>
    classStatement(props.range, props.source, BigInt(recording()?.first_ns ?? 0) + BigInt(props.outline.zero_ns)),
  );
  const [classes, retryClasses] = createAnswer(statement, (text, signal) => sql(props.source.run, text, 1, signal));
  const [operators, retryOperators] = createAnswer(
    () => scope(),
    (parameters) =>
      analysis(props.source.run, "ops", { ...parameters, step: undefined, sort: "-host_self_ns", limit: 200 }),
  );
  const ms = formatOfHeader("ns", "ms")!;
  const length = () => lengthOf(props.range);
  return (
    <div class="pane">
      <section>
        <h2>
          Range{" "}
          <span class="faint">
            {exactTime(props.range.from)} – {exactTime(props.range.to)}
          </span>
          <span class="faint right">{exactTime(length())}</span>
        </h2>
        <Answer of={classes} retry={retryClasses}>
          {(report) => (
            <table class="tight">
              <thead>
                <tr>
                  <th>Class, each instant once</th>
                  <th class="num">ms</th>
                  <th class="num">share</th>
                </tr>
              </thead>
              <tbody>
                <For each={classTimes(tables(report())[0]?.rows[0]?.map(numberOf) ?? [], length())}>
                  {(row) => (
                    <tr classList={{ zero: row.ns === 0 }}>
                      <td>
                        <span class="severity">
                          <Swatch name={row.name} />
                          {classLabel(row.name)}
                        </span>
                      </td>
                      <td class="num">{show(ms, row.ns)}</td>
                      <td class="num">{show({ kind: "percent" }, row.ns / length())}</td>
                    </tr>
                  )}
                </For>
              </tbody>
            </table>
          )}
        </Answer>
      </section>
      <section>
        <h2>
          What ran in it <span class="faint">host self time, started in the range</span>
        </h2>
        <Answer of={operators} retry={retryOperators}>
          {(report) => {
            const table = () => tableNamed(report(), "rows");
            const rows = () =>
              (table()?.rows ?? [])
                .map((_, row) => ({
                  name: String(cellNamed(table(), row, "name")),
                  calls: cellNamed(table(), row, "calls"),
                  ns: numberOf(cellNamed(table(), row, "host_self_ns")) ?? 0,
                }))
                .sort((a, b) => b.ns - a.ns)
                .slice(0, OPERATORS);
            return (
              <table class="tight">
                <thead>
                  <tr>
                    <th>Operator</th>
                    <th class="num">calls</th>
                    <th class="num">self, ms</th>
                  </tr>
                </thead>
                <tbody>
                  <For
                    each={rows()}
                    fallback={
                      <tr>
                        <td class="faint">No operator starts in this range.</td>
                      </tr>
                    }
                  >
                    {(row) => (
                      <tr>
                        <td>
                          <Ends text={row.name} />
                        </td>
                        <td class="num">{show({ kind: "count" }, row.calls)}</td>
                        <td class="num">{show(ms, row.ns)}</td>
                      </tr>
                    )}
                  </For>
                </tbody>
              </table>
            );
          }}
        </Answer>
      </section>
      <section>
        <h2>The device in this range</h2>
        <Answer of={classes}>
          {(report) => {
            const values = () => tables(report())[0]?.rows[0]?.map(numberOf) ?? [];
            const busy = () => values()[3] ?? 0;
            return (
              <dl>
                <dt>Busy</dt>
                <dd>
                  {figureText("ns", busy())} · {figureText("ratio", busy() / length())}
                </dd>
                <dt>Idle</dt>
                <dd>{figureText("ns", Math.max(0, Math.round(length() - busy())))}</dd>
              </dl>
            );
          }}
        </Answer>
        <div class="buttons">
          <button class="btn" onClick={() => props.actions.fit()}>
            Zoom to range <kbd>f</kbd>
          </button>
          <button class="btn" onClick={() => props.actions.mark()}>
            Mark <kbd>m</kbd>
          </button>
          <a class="btn" href={pageAddress("operators")}>
            Operators
          </a>
          <Show when={statement()}>
            {(text) => (
              <a class="btn" href={pageAddress("sql", { q: text() })}>
                SQL
              </a>
            )}
          </Show>
          <button class="btn" onClick={() => choose({ from: undefined, to: undefined })}>
            Clear <kbd>Esc</kbd>
          </button>
        </div>
      </section>
    </div>
  );
}

/** The union of all classes up to each, clipped to the range: their differences are the classes, each instant once. */
function classStatement(range: Range, source: SourceKey, zero: bigint): string {
  const [from, to] = [zero + BigInt(Math.floor(range.from)), zero + BigInt(Math.ceil(range.to))];
  const names = CLASSES.filter((name) => name !== "other");
  const column = (place: number) =>
    `  union_length(greatest(start_ns, ${from}), least(end_ns, ${to})) FILTER (WHERE class IN (${names
      .slice(0, place + 1)
      .map((name) => `'${name}'`)
      .join(", ")})) AS up_to_${names[place]}_ns`;
  return [
    "SELECT",
    names.map((_, place) => column(place)).join(",\n"),
    "FROM breakdown_spans",
    `WHERE rank = ${source.rank} AND "window" = ${source.window} AND start_ns < ${to} AND end_ns > ${from}`,
  ].join("\n");
}

function classTimes(upTo: (number | null)[], length: number): { name: string; ns: number }[] {
  let before = 0;
  const times = CLASSES.filter((name) => name !== "other").map((name, place) => {
    const now = Math.max(before, upTo[place] ?? 0);
    const ns = now - before;
    before = now;
    return { name: name as string, ns };
  });
  return [...times, { name: "other", ns: Math.max(0, Math.round(length - before)) }];
}
