// Ranks side by side: who waits, and for whom.
import { createMemo, For, Show, type JSX } from "solid-js";
import { classLabel, CLASSES } from "../format/names";
import { count, figureText, formatOfHeader, numberOf, show } from "../format/number";
import { factsOf } from "../format/say";
import { analysis } from "../server/questions";
import type { Cell, Report } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { EmptyState } from "../shell/states";
import { lossDoubt } from "../state/health";
import { choice, pageAddress } from "../state/route";
import { ranks, run, source } from "../state/session";
import { CommunicationKeys, Null, Swatch } from "../report/cells";
import { Lede, Stat } from "../report/parts";
import { cellNamed, headline, reasonOf, tableNamed, textFor } from "../report/table";
import { Waiting } from "./Waiting";

/** Ranks that stand in the table; the rest is on the page of communication. */
const SHOWN_RANKS = 64;

type RankRow = {
  rank: number;
  dur: number;
  shares: number[];
  utilization: Cell;
  communication: number;
  wait: number;
  last: number;
  caused: number;
};

export function Distributed(): JSX.Element {
  const question = createMemo(() => {
    const name = run()?.run;
    return name === undefined || ranks().length < 2 ? undefined : { run: name, step: choice("steps") };
  });
  const [report, retry] = createAnswer(question, async (asked) => {
    const [comms, steps] = await Promise.all([
      analysis(asked.run, "comms", { step: asked.step }),
      analysis(asked.run, "steps", { step: asked.step, group: "rank" }),
    ]);
    return { comms, steps };
  });
  return (
    <Show
      when={ranks().length > 1}
      fallback={
        <EmptyState
          title="One rank in this run"
          why="To compare ranks, open the traces of all ranks together, such as a folder with one file per rank."
          code="stepscope open runs/job-17/"
        />
      }
    >
      <Answer
        of={report}
        retry={retry}
        waiting={
          <div class="page">
            <Lede />
          </div>
        }
      >
        {(both) => <DistributedOf comms={both().comms} steps={both().steps} />}
      </Answer>
    </Show>
  );
}

function rankRows(comms: Report, steps: Report): RankRow[] {
  const [waits, times] = [tableNamed(comms, "rows"), tableNamed(steps, "rows")];
  const number = (cell: Cell) => numberOf(cell) ?? 0;
  const places = new Map((waits?.rows ?? []).map((_, at) => [cellNamed(waits, at, "rank"), at]));
  const found = (times?.rows ?? []).map((_, row): RankRow => {
    const shares = cellNamed(times, row, "shares");
    const rank = number(cellNamed(times, row, "rank"));
    const place = places.get(rank);
    const waited = (name: string) => (place === undefined ? 0 : number(cellNamed(waits, place, name)));
    return {
      rank,
      dur: number(cellNamed(times, row, "dur_ns")),
      shares: Array.isArray(shares) ? shares : [],
      utilization: cellNamed(times, row, "utilization_ratio"),
      communication: waited("communication_ns"),
      wait: waited("wait_ns"),
      last: waited("last_arrivals"),
      caused: waited("wait_caused_to_others_ns"),
    };
  });
  return found.sort((a, b) => b.caused - a.caused || a.rank - b.rank);
}

function DistributedOf(props: { comms: Report; steps: Report }): JSX.Element {
  const rows = createMemo(() => rankRows(props.comms, props.steps));
  const caused = createMemo(() => new Map(rows().map((row) => [row.rank, row.caused])));
  const facts = () =>
    factsOf([
      source()?.devices[0] && `${source()?.devices[0]} × ${count(ranks().length)}`,
      textFor(props.comms, "plain")?.lines[0],
    ]);
  const kinds = () => tableNamed(props.comms, "collectives");
  const mean = (value: (row: RankRow) => number) =>
    rows().reduce((sum, row) => sum + value(row), 0) / Math.max(1, rows().length);
  const slowest = () => Math.max(...rows().map((row) => row.dur));
  const fastest = () => Math.min(...rows().map((row) => row.dur));
  const spread = () => (slowest() - fastest()) / Math.max(1, slowest());
  const communication = () => mean((row) => row.communication);
  const wait = () => mean((row) => row.wait);
  const transfer = () => Math.max(0, communication() - wait());
  const bandwidth = () => cellNamed(kinds(), 0, "busbw_gb_per_s");
  const collectives = () =>
    (kinds()?.rows ?? []).reduce((sum, _, row) => sum + (numberOf(cellNamed(kinds(), row, "count")) ?? 0), 0);
  const hasWaits = () => wait() > 0;
  return (
    <div class="page">
      <Lede sentence={headline(props.comms) ?? headline(props.steps)} facts={facts()} doubt={lossDoubt()} />
      <div class="strip">
        <Stat
          label="Step time, slowest rank"
          unit="ns"
          value={slowest()}
          note={`fastest ${figureText("ns", fastest())}, spread ${figureText("ratio", spread())}`}
        />
        <Stat
          label="Communication, mean"
          unit="ns"
          value={Math.round(communication())}
          note={`${figureText("plain", collectives())} collectives per rank`}
        />
        <Stat
          label="of which waiting"
          unit="ns"
          value={hasWaits() ? Math.round(wait()) : null}
          reason="ranks do not match"
          note={
            hasWaits() ? `${figureText("ratio", wait() / Math.max(1, communication()))} of communication` : undefined
          }
        />
        <Stat
          label="of which transfer"
          unit="ns"
          value={hasWaits() ? Math.round(transfer()) : null}
          reason="ranks do not match"
          note={
            hasWaits() ? `${figureText("moved_bytes", numberOf(cellNamed(kinds(), 0, "bytes")))} per rank` : undefined
          }
        />
        <Stat
          label="GPU utilization, lowest"
          unit="ratio"
          value={rows().reduce(
            (least: number | null, row) =>
              numberOf(row.utilization) === null ? least : Math.min(least ?? 1, numberOf(row.utilization)!),
            null,
          )}
        />
        <Stat
          label="Bus bandwidth"
          unit="gb_per_s"
          value={bandwidth()}
          reason={reasonOf(props.comms, (path) => path.endsWith("busbw_gb_per_s"))}
          note={bandwidth() === null ? undefined : String(cellNamed(kinds(), 0, "collective"))}
        />
      </div>
      <SideBySide rows={rows()} collectives={collectives()} />
      <Waiting caused={(rank) => caused().get(rank) ?? 0} />
    </div>
  );
}

function SideBySide(props: { rows: RankRow[]; collectives: number }): JSX.Element {
  const ms = { ...formatOfHeader("ns", "ms")!, isFigure: true };
  const longest = () => Math.max(1, ...props.rows.map((row) => row.dur));
  const worst = () => Math.max(1, ...props.rows.map((row) => row.caused));
  return (
    <section class="panel">
      <header>
        <h2>Ranks side by side</h2>
        <span class="keys-row">
          <For each={CLASSES.filter((name) => props.rows.some((row) => (row.shares[CLASSES.indexOf(name)] ?? 0) > 0))}>
            {(name) => (
              <Show
                when={name === "communication"}
                fallback={
                  <span>
                    <Swatch name={name} /> {classLabel(name)}
                  </span>
                }
              >
                <CommunicationKeys />
              </Show>
            )}
          </For>
        </span>
        {/* A store of sums alone has no events to show. */}
        <Show when={run()?.sources.some((source) => source.events > 0)}>
          <span class="more">
            <a class="link" href={pageAddress("timeline", { rank: String(props.rows[0]?.rank ?? 0), ranks: "all" })}>
              Show these ranks in the timeline
            </a>
          </span>
        </Show>
      </header>
      <div class="side-by-side" role="region" tabindex="0" aria-label="Ranks side by side">
        <table>
          <thead>
            <tr>
              <th>Rank</th>
              <th class="bars">Step, 0 – {figureText("ns", longest())}</th>
              <th class="num">ms</th>
              <th class="num">GPU util.</th>
              <th class="num">comm., ms</th>
              <th class="num">waits, ms</th>
              <th class="num">last to arrive</th>
              <th class="num">delays others, ms ↓</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.rows.slice(0, SHOWN_RANKS)}>
              {(row) => (
                <tr>
                  <td>
                    <a class="plain-link" href={pageAddress("timeline", { rank: String(row.rank), view: undefined })}>
                      rank {row.rank}
                    </a>
                  </td>
                  <td class="bars">
                    <RankBar row={row} longest={longest()} />
                  </td>
                  <td class="num">{show(ms, row.dur)}</td>
                  <td class="num">
                    <Show when={row.utilization !== null} fallback={<Null reason="no device events" />}>
                      {show({ kind: "percent" }, row.utilization)}
                    </Show>
                  </td>
                  <td class="num">{show(ms, row.communication)}</td>
                  <td class="num">{show(ms, row.wait)}</td>
                  <td class="num" classList={{ zero: row.last === 0 }}>
                    {count(row.last)} of {count(props.collectives)}
                  </td>
                  <td class="num grid-cell" classList={{ zero: row.caused === 0 }}>
                    {show(ms, row.caused)}
                    <Show when={row.caused > 0}>
                      <i class="share plain" style={{ width: `${(90 * row.caused) / worst()}%` }} />
                    </Show>
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={props.rows.length > SHOWN_RANKS}>
        <p class="nothing">
          Shows the {SHOWN_RANKS} of {count(props.rows.length)} ranks that delay others most.{" "}
          <a class="link" href={pageAddress("communication")}>
            All ranks
          </a>
        </p>
      </Show>
    </section>
  );
}

function label(name: string): string {
  return name === "waiting" ? "Waiting" : classLabel(name);
}

/** The classes of one rank; communication is split into transfer and waiting. */
function RankBar(props: { row: RankRow; longest: number }): JSX.Element {
  const pieces = () =>
    CLASSES.flatMap((name, place) => {
      const ns = props.row.shares[place] ?? 0;
      if (name !== "communication" || props.row.communication === 0) return [{ name: name as string, ns }];
      const waiting = (ns * props.row.wait) / props.row.communication;
      return [
        { name, ns: ns - waiting },
        { name: "waiting", ns: waiting },
      ];
    }).filter((piece) => piece.ns > 0);
  return (
    <span class="stack">
      <For each={pieces()}>
        {(piece) => (
          <i
            title={`${label(piece.name)}: ${figureText("ns", Math.round(piece.ns))}`}
            classList={{ hatched: piece.name === "other", waiting: piece.name === "waiting" }}
            style={{
              width: `${(100 * piece.ns) / props.longest}%`,
              background: piece.name === "other" || piece.name === "waiting" ? undefined : `var(--${piece.name})`,
            }}
          />
        )}
      </For>
    </span>
  );
}
