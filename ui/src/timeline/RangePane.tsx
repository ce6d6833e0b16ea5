// What happened in a range: every instant by class, the events around and in it, and the idle time of the device.
import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { classLabel, CLASSES } from "../format/names";
import { count, exactTime, figureText, formatOfHeader, numberOf, show } from "../format/number";
import { sql, type SourceKey } from "../server/questions";
import type { SpanRow, TimelineOutline } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { choose, pageAddress } from "../state/route";
import { source as recording } from "../state/session";
import { Swatch } from "../report/cells";
import { tables } from "../report/table";
import { contentOf, contentStatement, type Content } from "./range_content";
import { shortName } from "./short_name";
import { lengthOf, type Range } from "./view";

const CONTENT_ROWS = 400;
/** Names of each sort that are listed until somebody asks for all. */
const LISTED = 6;

export function RangePane(props: {
  range: Range;
  source: SourceKey;
  outline: TimelineOutline;
  selected: SpanRow | undefined;
  actions: { fit: () => void; mark: () => void; select: (spanId: number) => void };
}): JSX.Element {
  const zero = () => BigInt(recording()?.first_ns ?? 0) + BigInt(props.outline.zero_ns);
  const statement = createMemo(() => classStatement(props.range, props.source, zero()));
  const [classes, retryClasses] = createAnswer(statement, (text, signal) => sql(props.source.run, text, 1, signal));
  const [content, retryContent] = createAnswer(
    createMemo(() => contentStatement(props.range, props.source, zero())),
    (text, signal) => sql(props.source.run, text, CONTENT_ROWS, signal),
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
        <Show when={props.selected}>
          {(selected) => (
            <p class="chosen-event">
              Selected: <span class="mono">{shortName(String(selected().kind), String(selected().name))}</span>{" "}
              <button class="plain-link" onClick={() => choose({ from: undefined, to: undefined })}>
                Details
              </button>
            </p>
          )}
        </Show>
        <h2>
          Events in this range <span class="faint">time inside the range; callers include what they call</span>
        </h2>
        <Answer of={content} retry={retryContent}>
          {(report) => {
            const found = createMemo(() => contentOf(tables(report())[0]));
            return (
              <table class="tight">
                <thead>
                  <tr>
                    <th>Event</th>
                    <th class="num">calls</th>
                    <th class="num">ms</th>
                  </tr>
                </thead>
                <tbody>
                  <Contents
                    label="Enclosing the whole range, innermost first"
                    contents={found().around}
                    select={props.actions.select}
                  />
                  <Contents label="Inside the range" contents={found().inside} select={props.actions.select} />
                </tbody>
              </table>
            );
          }}
        </Answer>
      </section>
      <section>
        <h2>Device in this range</h2>
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

/** Events of one sort; each name leads to the longest of them. */
function Contents(props: { label: string; contents: Content[]; select: (spanId: number) => void }): JSX.Element {
  const [isAll, setIsAll] = createSignal(false);
  const listed = () => (isAll() ? props.contents : props.contents.slice(0, LISTED));
  const ms = formatOfHeader("ns", "ms")!;
  return (
    <>
      <tr class="sort">
        <td colspan="3">{props.contents.length === 0 ? `${props.label}: none recorded` : props.label}</td>
      </tr>
      <For each={listed()}>
        {(content) => (
          <tr>
            <td>
              <button class="content" title={content.whole} onClick={() => props.select(content.spanId)}>
                <span class="mono">{content.name}</span> <span class="faint">{content.kind}</span>
              </button>
            </td>
            <td class="num">{show({ kind: "count" }, content.calls)}</td>
            <td class="num">{show(ms, content.ns)}</td>
          </tr>
        )}
      </For>
      <Show when={props.contents.length > LISTED && !isAll()}>
        <tr>
          <td colspan="3">
            <button class="plain-link" onClick={() => setIsAll(true)}>
              and {count(props.contents.length - LISTED)} more
            </button>
          </td>
        </tr>
      </Show>
    </>
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
