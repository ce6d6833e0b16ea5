// A page that is one analysis: its sentence, its small tables, and its main table.
import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import { counted, sentenceCase, shapeLabel } from "../format/names";
import { count, figureText, numberOf } from "../format/number";
import { written } from "../format/say";
import { analysis } from "../server/questions";
import type { Cell, Column, PageEntry, Report, TablePart } from "../server/types";
import { Answer } from "../shell/Answer";
import { createAnswer } from "../state/answer";
import { Icon } from "../shell/icons";
import { EmptyState } from "../shell/states";
import { copyText } from "../shell/Toast";
import { lossDoubt, operatorDoubt } from "../state/health";
import { choice, choose, goTo, pageAddress, type Choices } from "../state/route";
import { chosenSteps, run, scope, source, stepsAddress, timelineOutline } from "../state/session";
import { parseColumns, writeColumns } from "../report/chosen_columns";
import { ColumnMenu } from "../report/ColumnMenu";
import { isShownAtFirst, perStepOrCall, shownColumns, type Values } from "../report/columns";
import { DataGrid } from "../report/DataGrid";
import { isStrip, Lede, Metrics, SmallTable, Strip, tableTitle } from "../report/parts";
import { headline, tableNamed, tables, textFor } from "../report/table";
import { rowKeys, withKeysShown } from "../report/row_keys";
import { Segments } from "../report/Segments";
import { arrange, asTsv, parseSort, writeSort, type Sort } from "../report/rows";
import { askTable, grouping, hasRows, SINGLE, type TableQuestion } from "./ask_table";
import { collectivesStatement, MOST_COLLECTIVES, spanPlace } from "./collectives";
import { showLongest } from "./show_worst";
import { Stacks } from "./Stacks";


const ROW_LIMIT = 5000;

type TableOptions = PageEntry["page"];

/** What the rows are called. */
const nounOf = (page: TableOptions) => (choice("group") === SINGLE ? "collectives" : page.noun);

const isTree = (page: TableOptions) => page.rows_by === "tree";

export function TablePage(props: { entry: PageEntry }): JSX.Element {
  const question = createMemo((): TableQuestion | undefined => {
    const [name, parameters] = [run()?.run, scope()];
    if (name === undefined || parameters === undefined) return undefined;
    // Steps are asked for by their places, which the outline knows.
    if (choice("group") === SINGLE && timelineOutline() === undefined) return undefined;
    return {
      run: name,
      name: props.entry.analysis,
      parameters: { ...parameters, group: grouping(), limit: ROW_LIMIT },
    };
  });
  const [report, retry] = createAnswer(question, askTable);
  return (
    <Answer of={report} retry={retry}>
      {(report) => (
        <Show when={report().name === props.entry.analysis}>
          <Show when={hasRows(report())} fallback={<EmptyState {...props.entry.page.empty} />}>
            <ReportTable page={props.entry.page} report={report()} question={question()!} />
          </Show>
        </Show>
      )}
    </Answer>
  );
}

function ReportTable(props: { page: TableOptions; report: Report; question: TableQuestion }): JSX.Element {
  const columnsChosen = createMemo(() => parseColumns(choice("columns")));
  const [width, setWidth] = createSignal(1248);
  let frame!: HTMLDivElement;
  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    onCleanup(() => observer.disconnect());
  });
  // Rows that are for programs only give way to another table.
  const isForPeople = (table: TablePart) => table.columns.some((column) => column.look !== "hidden");
  const main = () => {
    const rows = tableNamed(props.report, "rows");
    const rest = tables(props.report).filter((table) => table !== rows);
    return rows && (isForPeople(rows) || rest.length === 0) ? rows : rest.at(-1)!;
  };
  const others = () =>
    tables(props.report).filter((table) => table !== main() && isForPeople(table) && table.rows.length > 0);
  const values = () => (choice("values") ?? "sum") as Values;
  const steps = () => {
    const chosen = chosenSteps();
    return chosen ? chosen.last - chosen.first + 1 : (source()?.complete_steps ?? 0);
  };
  const table = createMemo(() => withKeysShown(perStepOrCall(main(), values(), steps())));
  const isShown = (column: Column) => columnsChosen()[column.name] ?? (props.page.shown.includes(column.name) || isShownAtFirst(column, width()));
  const sort = () => parseSort(choice("sort") ?? table().sorted_by);
  const filter = () => choice("q") ?? "";
  const subRows = createSubRows(
    () => props.page,
    () => props.question,
    table,
  );
  // Rows that are grouped further already have no others below them.
  const hasSubRows = () => props.page.expand_by !== null && choice("group") === undefined;
  const showInTimeline = (row: Cell[]) => showRow(table(), row);
  const statement = () =>
    choice("group") === SINGLE ? collectivesStatement({}, MOST_COLLECTIVES).trim() : props.page.statement;
  const copy = () => {
    const shown = shownColumns(table(), [], isShown).map((column) => column.place);
    void copyText(asTsv(table(), arrange(table(), filter(), sort()), shown), "Rows");
  };
  return (
    <div class="flush" ref={frame}>
      <Above report={props.report} others={others()} isByOperator={props.page.is_by_operator} />
      <div class="toolbar">
        <FilterField noun={nounOf(props.page)} />
        <Groups page={props.page} />
        <Show when={props.page.has_values}>
          <span class="caption">Values</span>
          <Segments
            label="Values"
            options={[
              ["", "sum"],
              ["step", "per step"],
              ["call", "per call"],
            ]}
            value={choice("values") ?? ""}
            choose={(value) => choose({ values: value || undefined })}
          />
        </Show>
        <Show when={props.page.frames}>
          <button
            class="btn"
            aria-pressed={choice("view") === "stacks"}
            onClick={() => choose({ view: choice("view") === "stacks" ? undefined : "stacks" })}
          >
            {props.page.frames === "modules" ? "Nesting" : "Call stacks"}
          </button>
        </Show>
        <span class="grow" />
        <ColumnMenu
          table={table()}
          isShown={isShown}
          change={(name, shown) => choose({ columns: writeColumns({ ...columnsChosen(), [name]: shown }) }, "replace")}
        />
        <button class="btn" onClick={copy} title="Copy these rows as TSV">
          Copy
        </button>
        <a class="btn" href={pageAddress("sql", { q: statement() })}>
          SQL
        </a>
      </div>
      <DataGrid
        table={table()}
        missing={props.report.missing}
        label={sentenceCase(nounOf(props.page))}
        filter={filter()}
        sort={sort()}
        changeSort={(sort: Sort) =>
          choose({ sort: writeSort(sort) === table().sorted_by ? undefined : writeSort(sort) })
        }
        isShown={isShown}
        chosen={choice("sel")}
        choose={(key) => choose({ sel: key }, "replace")}
        open={showInTimeline}
        canExpand={hasSubRows()}
        isTree={isTree(props.page) && choice("group") === undefined}
        subRows={(row) => (hasSubRows() ? subRows.of(row) : undefined)}
        onExpand={() => hasSubRows() && subRows.ask()}
      />
      <StatusLine table={table()} filter={filter()} values={values()} page={props.page} />
      <Show when={choice("view") === "stacks" && props.page.frames}>{(frames) => <Stacks frames={frames()} />}</Show>
    </div>
  );
}

/** What stands above the main table: the sentence, figures, small tables. */
function Above(props: { report: Report; others: TablePart[]; isByOperator: boolean }): JSX.Element {
  const facts = () => textFor(props.report, "plain")?.lines[0];
  const metrics = () => props.report.parts.filter((part) => part.kind === "metric");
  const doubt = () => (props.isByOperator ? operatorDoubt() : lossDoubt());
  const isNeeded = () => Boolean(headline(props.report) ?? facts() ?? doubt()) || props.others.length > 0;
  return (
    <Show when={isNeeded()}>
      <div class="above">
        <Lede
          sentence={headline(props.report) ?? facts()}
          facts={headline(props.report) ? facts() : undefined}
          doubt={doubt()}
        />
        <For each={props.others.filter(isStrip)}>{(table) => <Strip table={table} />}</For>
        <Show when={props.others.length === 0}>
          <Metrics metrics={metrics()} />
        </Show>
        <div class="cols beside">
          <For each={props.others.filter((table) => !isStrip(table))}>
            {(table) => (
              <section class="panel" tabindex="0" aria-label={tableTitle(table)}>
                <header>
                  <h2>{tableTitle(table)}</h2>
                </header>
                <SmallTable table={table} missing={props.report.missing} />
              </section>
            )}
          </For>
        </div>
      </div>
    </Show>
  );
}

function FilterField(props: { noun: string }): JSX.Element {
  return (
    <label class="field">
      <Icon name="search" size={14} />
      <input
        type="search"
        placeholder={`Filter ${props.noun}`}
        aria-label={`Filter ${props.noun}`}
        value={choice("q") ?? ""}
        onInput={(event) => choose({ q: event.currentTarget.value || undefined }, "replace")}
      />
      <kbd>/</kbd>
    </label>
  );
}

function Groups(props: { page: TableOptions }): JSX.Element {
  const options = (): [string, string][] => [
    ["", props.page.rows_by],
    ...props.page.groups,
  ];
  return (
    <Show when={props.page.groups.length > 0}>
      <span class="caption">{isTree(props.page) ? "Rows" : "Group by"}</span>
      <Segments
        label={isTree(props.page) ? "Rows" : "Group by"}
        options={options()}
        value={choice("group") ?? ""}
        choose={(value) => choose({ group: value || undefined, sel: undefined })}
      />
    </Show>
  );
}

function StatusLine(props: { table: TablePart; filter: string; values: Values; page: TableOptions }): JSX.Element {
  const shown = () => arrange(props.table, props.filter, undefined).length;
  const all = () => props.table.rows.length + (props.table.left_out ?? 0);
  const totals = () => {
    const columns = shownColumns(props.table, [], () => true);
    return columns
      .filter(
        (column) =>
          column.place > 0 &&
          typeof props.table.total?.[column.place] === "number" &&
          column.column.look !== "hidden" &&
          column.column.unit !== "ratio",
      )
      .map(
        (column) =>
          `${column.label.toLowerCase()} ${figureText(column.column.unit, props.table.total?.[column.place] ?? null)}`,
      )
      .join(" · ");
  };
  const chosenRow = () => {
    const place = choice("sel") === undefined ? -1 : rowKeys(props.table).indexOf(choice("sel")!);
    return props.table.rows[place];
  };
  const note = () =>
    props.values === "sum"
      ? props.table.notes.map(written).join(" · ")
      : props.values === "step"
        ? "divided by complete steps"
        : "divided by calls";
  return (
    <div class="statusline">
      <span>
        {shown() === all()
          ? counted(all(), nounOf(props.page))
          : `${count(shown())} of ${counted(all(), nounOf(props.page))}`}
        <Show when={props.table.left_out === null}>, and more</Show>
      </span>
      <span>{totals()}</span>
      <Show when={chosenRow()}>
        {(row) => (
          <button class="link" onClick={() => showRow(props.table, row())}>
            Show in timeline <kbd>Enter</kbd>
          </button>
        )}
      </Show>
      <span>{(timelineOutline()?.steps.length ?? 0) > 0 ? note() : ""}</span>
    </div>
  );
}

/** Shows a row in the timeline: its step or span, else the longest event of its name. */
function showRow(table: TablePart, row: Cell[]): void {
  const place = placeOf(table, row);
  if (place) goTo("timeline", place);
  else void showLongest(String(row[0] ?? ""));
}

/** Where a row is in the timeline, if it is of one step or span. */
function placeOf(table: TablePart, row: Cell[]): Choices | undefined {
  const cell = (name: string) => row[table.columns.findIndex((column) => column.name === name)] ?? null;
  const [spanId, rank] = [numberOf(cell("span_id")), numberOf(cell("shown_rank"))];
  if (spanId !== null && rank !== null)
    return spanPlace(rank, spanId, numberOf(cell("start_ns")), numberOf(cell("shown_ns")) ?? 0);
  const step = cell("is_complete") === null ? null : numberOf(cell("step"));
  if (step !== null) return { steps: stepsAddress(step, step), rank: rankOf(cell("rank")), view: undefined };
  return undefined;
}

function rankOf(cell: Cell): string | undefined {
  return numberOf(cell) === null ? choice("rank") : String(cell);
}

/** Rows below a row, from the same analysis grouped further; asked when the first row is expanded. */
function createSubRows(page: () => TableOptions, question: () => TableQuestion, table: () => TablePart) {
  const [asked, setAsked] = createSignal<TableQuestion>();
  const [finer] = createAnswer(asked, (asked) => analysis(asked.run, asked.name, asked.parameters));
  createEffect(on(question, () => setAsked(undefined), { defer: true }));
  const ask = () => {
    const group = page().expand_by;
    if (group !== null) setAsked({ ...question(), parameters: { ...question().parameters, group } });
  };
  const of = (row: Cell[]): Cell[][] | undefined => {
    const group = page().expand_by;
    const report = asked() && !finer.error ? finer.latest : undefined;
    const rows = report && tableNamed(report, "rows");
    if (group === null || !rows) return undefined;
    const apart = rows.columns.findIndex((column) => column.name === group);
    const places = table().columns.map((column) => rows.columns.findIndex((other) => other.name === column.name));
    return rows.rows
      .filter((sub) => sub[0] === row[0])
      .map((sub) =>
        places.map((place, at) =>
          at === 0 ? label(sub[apart] ?? null, group) : place < 0 ? null : (sub[place] ?? null),
        ),
      );
  };
  return { ask, of };
}

function label(cell: Cell, group: string): Cell {
  if (cell === null) return group === "input_shape" ? "shapes not recorded" : "none";
  return group === "input_shape" ? shapeLabel(String(cell)) : cell;
}
