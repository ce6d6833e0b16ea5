// The critical path: what made the steps as long as they are, and what would shorten them.
import { createMemo, For, Show, type JSX } from "solid-js";
import { sentenceCase } from "../format/names";
import { words } from "../format/say";
import { ClassBar } from "../report/ClassBar";
import { classTimes, sumOf } from "../report/class_times";
import { Lede, SmallTable } from "../report/parts";
import { Segments } from "../report/Segments";
import { headline, reasonOf, tableNamed } from "../report/table";
import { Said } from "../report/Said";
import { analysis } from "../server/questions";
import type { Column, PageEntry, Report, Sentence, TablePart, TextPart } from "../server/types";
import { Answer } from "../shell/Answer";
import { EmptyState } from "../shell/states";
import { createAnswer } from "../state/answer";
import { lossDoubt } from "../state/health";
import { choice, choose } from "../state/route";
import { chosenRange, run, scope } from "../state/session";
import { showPiece } from "./path_place";
import { WhatIf } from "./WhatIf";

/** Rows of the longest table; the pieces of one step may be thousands. */
const MOST_ROWS = 500;
const RANGE_NOTE = "A path covers whole steps: the selected range does not apply.";

export function CriticalPath(props: { entry: PageEntry }): JSX.Element {
  const question = createMemo(() => {
    const [name, all] = [run()?.run, scope()];
    if (name === undefined || !all) return undefined;
    const { rank, window, step } = all;
    return { run: name, parameters: { rank, window, step }, group: choice("group") };
  });
  const [report, retry] = createAnswer(question, (asked) =>
    analysis(asked.run, "critical", { ...asked.parameters, group: asked.group, limit: MOST_ROWS }),
  );
  return (
    <Answer
      of={report}
      retry={retry}
      waiting={
        <div class="page">
          <Lede />
        </div>
      }
    >
      {(report) => (
        <Show
          when={tableNamed(report(), "classes")}
          fallback={<EmptyState {...props.entry.page.empty} why={noPath(report(), props.entry.page.empty.why)} />}
        >
          <PathOf entry={props.entry} report={report()} parameters={question()?.parameters ?? {}} />
        </Show>
      )}
    </Answer>
  );
}

/** Why there is no path, and what to record. */
function noPath(report: Report, why: string): string {
  const reason = reasonOf(report, (path) => path === "rows");
  return reason === undefined ? why : `${sentenceCase(reason)}. ${why}`;
}

type Parameters = NonNullable<ReturnType<typeof scope>>;

function PathOf(props: { entry: PageEntry; report: Report; parameters: Parameters }): JSX.Element {
  const [facts, notes] = [() => plain(props.report)[0], () => plain(props.report).slice(1)];
  const classes = () => tableNamed(props.report, "classes")!;
  const times = createMemo(() => classTimes(classes(), "path_per_step_ns"));
  return (
    <div class="page">
      <Lede sentence={headline(props.report)} facts={facts()} doubt={lossDoubt()} />
      <div class="cols path-grid">
        <section class="panel">
          <header>
            <h2>Path of a step</h2>
            <span class="what">what the step waited for; the classes add up to it</span>
          </header>
          <div class="chart">
            <ClassBar times={times()} whole={sumOf(times())} isNamed />
          </div>
          <PathTable table={classes()} {...props} />
          <Notes notes={chosenRange() ? [words(RANGE_NOTE), ...notes()] : notes()} />
        </section>
        <WhatIf now={times()} usual={props.report} />
      </div>
      <div class="cols halves">
        <Rows {...props} />
        <Show when={tableNamed(props.report, "kernels")}>
          {(kernels) => (
            <section class="panel">
              <header>
                <h2>Kernels on the path</h2>
                <span class="what">longest first</span>
              </header>
              <div class="scrolled" role="region" tabindex="0" aria-label="Kernels on the path">
                <PathTable table={kernels()} {...props} />
              </div>
            </section>
          )}
        </Show>
      </div>
    </div>
  );
}

/** The main table: by operator, by class and name, or the pieces of one step. */
function Rows(props: { entry: PageEntry; report: Report; parameters: Parameters }): JSX.Element {
  const rows = () => tableNamed(props.report, "rows")!;
  const arePieces = () => rows().columns.some((column) => column.name === "span_id");
  const title = () => (arePieces() ? "Piece by piece" : "Where the path goes");
  const left = () => rows().left_out ?? 0;
  return (
    <section class="panel">
      <header>
        <h2>{title()}</h2>
        <Show when={left() > 0}>
          <span class="what">
            first {rows().rows.length} of {rows().rows.length + left()}
          </span>
        </Show>
        <span class="more">
          <Segments
            label="Rows"
            options={[["", arePieces() ? "piece" : props.entry.page.rows_by], ...props.entry.page.groups]}
            value={choice("group") ?? ""}
            choose={(group) => choose({ group: group || undefined })}
          />
        </span>
      </header>
      <div class="scrolled" role="region" tabindex="0" aria-label={title()}>
        <PathTable table={rows()} {...props} />
      </div>
    </section>
  );
}

function PathTable(props: { table: TablePart; report: Report; parameters: Parameters }): JSX.Element {
  const isShown = (column: Column) => column.look !== "hidden" && !LEFT_OUT.includes(column.name);
  return (
    <SmallTable
      table={props.table}
      missing={props.report.missing}
      isShown={isShown}
      most={MOST_ROWS}
      open={(row) => void showPiece(props.table, row, props.parameters)}
    />
  );
}

/** What a panel of half a page has no room for. */
const LEFT_OUT = ["delay_per_step_ns", "operator", "pieces"];

function Notes(props: { notes: Sentence[] }): JSX.Element {
  return (
    <Show when={props.notes.length > 0}>
      <ul class="path-notes">
        <For each={props.notes}>
          {(note) => (
            <li>
              <Said sentence={note} />
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

/** The lines of the report beside its sentence: facts first, then what the path rests on. */
function plain(report: Report): Sentence[] {
  const texts = report.parts.filter((part): part is TextPart & { kind: "text" } => part.kind === "text");
  return texts.filter((text) => text.role === "plain").flatMap((text) => text.lines);
}
