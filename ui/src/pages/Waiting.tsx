// How long each rank waits for the others, in each collective, or in each step if there are several.
import { createMemo, Show, type JSX } from "solid-js";
import { heatCap, type Heat, type HeatCell } from "../charts/heat";
import { HeatMap } from "../charts/HeatMap";
import { stepMark } from "../format/names";
import { figureText, numberOf } from "../format/number";
import { tables } from "../report/table";
import { sql } from "../server/questions";
import type { Cell, Report } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { goTo, type Choices } from "../state/route";
import { FIRST_STEPS, matchedCollectives, spanPlace } from "./collectives";
import { chosenSteps, ranks, run, stepsAddress, timelineOutline } from "../state/session";

const COLLECTIVES = 400;

const isLast = (rank: string) => `CASE WHEN last_rank = ${rank} THEN 1 ELSE 0 END`;

function bySteps(): string {
  return `SELECT rank, step AS place, sum(wait_ns) AS wait_ns, sum(${isLast("rank")}) AS last
FROM (${matchedCollectives()}) WHERE wait_ns IS NOT NULL
GROUP BY rank, step ORDER BY place, rank`;
}

function byCollectives(steps: { first: number; last: number } | undefined, limit: number): string {
  const only = steps ? ` AND step BETWEEN ${steps.first} AND ${steps.last}` : "";
  return `SELECT all_waits.rank AS rank, wait_ns, ${isLast("all_waits.rank")} AS last, span_id, dur_ns,
  start_ns - zero_ns AS at_ns,
  CAST(dense_rank() OVER (ORDER BY first_ns, group_id, all_waits."window", number, turn) AS BIGINT) - 1 AS place
FROM (
  SELECT *, min(start_ns) OVER (PARTITION BY group_id, "window", number, turn) AS first_ns
  FROM (${matchedCollectives()}) WHERE wait_ns IS NOT NULL${only}
) AS all_waits
LEFT JOIN (${FIRST_STEPS}) AS zero ON zero.rank = all_waits.rank AND zero."window" = all_waits."window"
ORDER BY place, rank LIMIT ${limit}`;
}

export function Waiting(props: { caused: (rank: number) => number }): JSX.Element {
  const steps = () => timelineOutline()?.steps ?? [];
  const isBySteps = () => steps().length > 1 && chosenSteps() === undefined;
  const explained = () =>
    isBySteps()
      ? "one column per step; click a cell to show it in the timeline"
      : "one column per collective in launch order; click a cell to show it in the timeline";
  const question = createMemo(() => {
    const name = run()?.run;
    return name === undefined || timelineOutline() === undefined
      ? undefined
      : { run: name, statement: isBySteps() ? bySteps() : byCollectives(chosenSteps(), COLLECTIVES * ranks().length) };
  });
  const [report, retry] = createAnswer(question, (asked, signal) => sql(asked.run, asked.statement, 400_000, signal));
  const heat = (report: Report): Heat => {
    const table = tables(report)[0];
    const column = (name: string) => table?.columns.findIndex((each) => each.name === name) ?? -1;
    const [rank, place, wait, last] = ["rank", "place", "wait_ns", "last"].map(column) as [
      number,
      number,
      number,
      number,
    ];
    const [span, start, dur] = ["span_id", "at_ns", "dur_ns"].map(column) as [number, number, number];
    const number = (cell: Cell | undefined) => numberOf(cell ?? null) ?? 0;
    const places = [
      ...new Set((table?.rows ?? []).filter((row) => row[place] !== null).map((row) => number(row[place]))),
    ].sort((a, b) => a - b);
    const columnOf = new Map(places.map((each, at) => [each, at]));
    return {
      ranks: ranks(),
      columns: places.map((each) => (isBySteps() ? stepMark(steps()[each]?.name ?? `#${each}`) : String(each))),
      cells: (table?.rows ?? [])
        .filter((row) => columnOf.has(number(row[place])))
        .map((row) => ({
          rank: number(row[rank]),
          column: columnOf.get(number(row[place]))!,
          wait: number(row[wait]),
          isLast: !isBySteps() && number(row[last]) === 1,
          at: isBySteps()
            ? { step: number(row[place]) }
            : { spanId: number(row[span]), start: numberOf(row[start] ?? null), dur: number(row[dur]) },
        })),
    };
  };
  /** The rank of a cell, and the step or the collective. */
  const placeOf = ({ rank, at }: HeatCell): Choices =>
    at === undefined || "step" in at
      ? { rank: String(rank), window: undefined, steps: at && stepsAddress(at.step, at.step) }
      : spanPlace(rank, at.spanId, at.start, at.dur);
  return (
    <section class="panel">
      <Answer of={report} retry={retry}>
        {(report) => {
          const known = createMemo(() => heat(report()));
          return (
            <Show
              when={known().columns.length > 0}
              fallback={<p class="nothing">No collectives match between the ranks, so waiting is not known.</p>}
            >
              <header>
                <h2>Waiting, ranks × {isBySteps() ? "steps" : "collectives"}</h2>
                <span class="what" title={explained()}>
                  {explained()}
                </span>
                <span class="more heat-key">
                  0 <i /> {figureText("ns", Math.round(heatCap(known())))} and more
                  <Show when={!isBySteps()}>
                    <span class="ring" /> last to arrive
                  </Show>
                </span>
              </header>
              <div class="heat-frame">
                <HeatMap
                  heat={known()}
                  caused={props.caused}
                  choose={(cell) => goTo("timeline", placeOf(cell))}
                />
              </div>
            </Show>
          );
        }}
      </Answer>
    </section>
  );
}
