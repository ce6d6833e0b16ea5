// How long each rank waits for the others, in each collective, or in each step if there are several.
import { createMemo, Show, type JSX } from "solid-js";
import { heatCap, type Heat } from "../charts/heat";
import { HeatMap } from "../charts/HeatMap";
import { stepMark } from "../format/names";
import { figureText, numberOf } from "../format/number";
import { tables } from "../report/table";
import { sql } from "../server/questions";
import type { Cell, Report } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { choose } from "../state/route";
import { chosenSteps, ranks, run, stepsAddress, timelineOutline } from "../state/session";

const COLLECTIVES = 400;

/** Waiting of each rank in each collective; who does not wait arrived last. */
const WAITS = `
  SELECT rank, step, group_id, ordinal,
    dur_ns - min(dur_ns) OVER (PARTITION BY group_id, ordinal) AS wait_ns,
    min(start_ns) OVER (PARTITION BY group_id, ordinal) AS first_ns
  FROM collectives WHERE ordinal IS NOT NULL`;
const LAST = "CASE WHEN wait_ns = 0 THEN 1 ELSE 0 END";

function bySteps(): string {
  return `SELECT rank, step AS place, sum(wait_ns) AS wait_ns, sum(${LAST}) AS last
FROM (${WAITS})
GROUP BY rank, step ORDER BY place, rank`;
}

function byCollectives(steps: { first: number; last: number } | undefined, limit: number): string {
  const only = steps ? ` AND step BETWEEN ${steps.first} AND ${steps.last}` : "";
  return `SELECT rank, wait_ns, ${LAST} AS last,
  CAST(dense_rank() OVER (ORDER BY first_ns, group_id, ordinal) AS BIGINT) - 1 AS place
FROM (${WAITS}${only})
ORDER BY place, rank LIMIT ${limit}`;
}

export function Waiting(props: { caused: (rank: number) => number }): JSX.Element {
  const steps = () => timelineOutline()?.steps ?? [];
  const isBySteps = () => steps().length > 1 && chosenSteps() === undefined;
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
        })),
    };
  };
  return (
    <section class="panel">
      <Answer of={report} retry={retry}>
        {(report) => {
          const known = createMemo(() => heat(report()));
          return (
            <Show
              when={known().columns.length > 0}
              fallback={<p class="nothing">No collective could be matched between the ranks.</p>}
            >
              <header>
                <h2>Waiting, ranks × {isBySteps() ? "steps" : "collectives"}</h2>
                <span class="what">
                  {isBySteps()
                    ? "one column a step"
                    : "one column a collective in order of launch; with many steps one column a step"}
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
                  choose={(column) => isBySteps() && choose({ steps: stepsAddress(column, column) })}
                />
              </div>
            </Show>
          );
        }}
      </Answer>
    </section>
  );
}
