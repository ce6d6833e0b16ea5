// Ask with SQL: an editor that knows the tables, and the rows that come back.
import { batch, createEffect, createMemo, createSignal, For, on, Show, type JSX } from "solid-js";
import { counted } from "../format/names";
import { count } from "../format/number";
import { isAborted } from "../server/client";
import { analysis, sql } from "../server/questions";
import type { Report, TablePart } from "../server/types";
import { createAnswer } from "../state/answer";
import { Icon } from "../shell/icons";
import { ErrorState } from "../shell/states";
import { copyText, tell } from "../shell/Toast";
import { choice, choose } from "../state/route";
import { run } from "../state/session";
import { DataGrid } from "../report/DataGrid";
import { tables } from "../report/table";
import { arrange, asCsv, asTsv, parseSort, writeSort } from "../report/rows";
import { SQL_EXAMPLES } from "./sql_examples";
import { complete, propose, type Proposal, type Schema } from "./completion";

const LIMIT = 10_000;
const VIEWS = "SELECT table_name FROM information_schema.tables WHERE table_type = 'VIEW'";
/** Measures of the editor, as `.editor textarea` has them. */
const PADDING_PX = 15;
const LINE_PX = 20;
const LETTER_PX = 7.4;
export function Sql(): JSX.Element {
  const [text, setText] = createSignal(choice("q") ?? SQL_EXAMPLES[0]!.statement);
  const [report, setReport] = createSignal<Report>();
  const [error, setError] = createSignal<unknown>();
  const [isRunning, setIsRunning] = createSignal(false);
  const [tookMs, setTookMs] = createSignal(0);
  let stop = new AbortController();
  const [schemaReport] = createAnswer(
    () => run()?.run,
    async (name, signal) => {
      const [columns, views] = await Promise.all([analysis(name, "schema", {}), sql(name, VIEWS, LIMIT, signal)]);
      return readSchema(columns, new Set(tables(views)[0]?.rows.map((row) => String(row[0]))));
    },
  );
  const schema = createMemo((): Schema => (schemaReport.error ? undefined : schemaReport.latest) ?? new Map());

  const ask = async () => {
    const name = run()?.run;
    if (name === undefined || text().trim() === "") return;
    stop.abort();
    const mine = (stop = new AbortController());
    answered = { q: text(), of: run() };
    if (choice("q") !== text()) choose({ q: text(), sort: undefined });
    setIsRunning(true);
    setError(undefined);
    // Rows of another statement, or of another state of the run, are no answer to this one.
    setReport(undefined);
    const started = performance.now();
    try {
      const answer = await sql(name, text(), LIMIT, mine.signal);
      if (mine.signal.aborted) return;
      setReport(answer);
      setTookMs(performance.now() - started);
    } catch (failure) {
      if (!isAborted(failure)) setError(failure);
    } finally {
      if (mine === stop) setIsRunning(false);
    }
  };
  // A link to a statement shows its rows, and so does the way back to it; of another run, or another state, it runs again.
  let answered: { q: string; of: unknown } | undefined;
  createEffect(
    on([() => choice("q"), run], ([asked, of]) => {
      if (asked === undefined) {
        stop.abort();
        answered = undefined;
        batch(() => (setReport(undefined), setError(undefined), setIsRunning(false)));
        return;
      }
      if (of === undefined || (answered?.q === asked && answered.of === of)) return;
      setText(asked);
      void ask();
    }),
  );

  const table = () => report() && tables(report()!)[0];
  const runStatement = (statement: string) => {
    setText(statement);
    void ask();
  };
  return (
    <div class="sql">
      <div class="flush">
        <Editor text={text()} change={setText} run={() => void ask()} schema={schema()} />
        <div class="toolbar">
          <button class="btn main" onClick={() => void ask()}>
            Run
          </button>
          <kbd>Ctrl Enter</kbd>
          <Show when={isRunning()}>
            <button class="btn" onClick={() => (stop.abort(), setIsRunning(false))}>
              Stop
            </button>
          </Show>
          <span class="grow" />
          <Show when={table()}>
            {(table) => (
              <>
                <button
                  class="btn"
                  onClick={() =>
                    void copyText(
                      asTsv(
                        table(),
                        arrange(table(), "", parseSort(choice("sort"))),
                        table().columns.map((_, place) => place),
                      ),
                      "Rows",
                    )
                  }
                >
                  Copy
                </button>
                <button class="btn" onClick={() => save(table())}>
                  Export CSV
                </button>
              </>
            )}
          </Show>
        </div>
        <Show when={!error()} fallback={<ErrorState error={error()} retry={() => void ask()} />}>
          <Show
            when={table()}
            fallback={
              <p class="sql-hint">
                Run the statement, or choose an example on the right. Statements are read-only. Names complete as you
                type.
              </p>
            }
          >
            {(table) => (
              <>
                <DataGrid
                  table={table()}
                  missing={report()?.missing ?? []}
                  label="Result"
                  filter=""
                  sort={parseSort(choice("sort"))}
                  changeSort={(sort) => choose({ sort: writeSort(sort) })}
                  isShown={() => true}
                  spelling="raw"
                />
                <div class="statusline">
                  <span>
                    {counted(table().rows.length, "rows")}
                    <Show when={table().left_out !== 0}>
                      {table().left_out === null ? ", and more" : `, ${count(table().left_out ?? 0)} more`}
                    </Show>
                  </span>
                  <span>{Math.round(tookMs())} ms</span>
                </div>
              </>
            )}
          </Show>
        </Show>
      </div>
      <aside class="schema" role="region" aria-label="Examples and tables" tabindex="0">
        <h2>Examples</h2>
        <For each={SQL_EXAMPLES}>
          {(example) => (
            <button class="schema-table" title={example.statement} onClick={() => runStatement(example.statement)}>
              <Icon name="sql" size={12} />
              {example.title}
            </button>
          )}
        </For>
        <SchemaTree
          title="Tables"
          schema={schema()}
          kind="table"
          insert={(word) => setText(`${text().trimEnd()} ${word}`)}
        />
        <SchemaTree
          title="Views"
          schema={schema()}
          kind="view"
          insert={(word) => setText(`${text().trimEnd()} ${word}`)}
        />
      </aside>
    </div>
  );
}

function readSchema(report: Report, views: Set<string>): Schema {
  const schema: Schema = new Map();
  const table = tables(report)[0];
  if (!table) return schema;
  const place = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [ofTable, column, type, meaning] = ["table", "column", "type", "meaning"].map(place) as [
    number,
    number,
    number,
    number,
  ];
  for (const row of table.rows) {
    const name = String(row[ofTable]);
    schema.set(name, [
      ...(schema.get(name) ?? []),
      { column: String(row[column]), type: String(row[type]), meaning: String(row[meaning] ?? ""), kind: views.has(name) ? "view" : "table" },
    ]);
  }
  return schema;
}

function save(table: TablePart): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([asCsv(table)], { type: "text/csv" }));
  link.download = "stepscope.csv";
  link.click();
  URL.revokeObjectURL(link.href);
  tell("Rows exported");
}

function Editor(props: { text: string; change: (text: string) => void; run: () => void; schema: Schema }): JSX.Element {
  let field!: HTMLTextAreaElement;
  const [proposals, setProposals] = createSignal<Proposal[]>([]);
  const [chosen, setChosen] = createSignal(0);
  const [place, setPlace] = createSignal({ left: 0, top: 0 });
  const look = () => {
    setProposals(propose(field.value, field.selectionStart, props.schema));
    setChosen(0);
    // Below the line of the cursor, so that it hides nothing that was just written.
    const box = field.getBoundingClientRect();
    const lines = field.value.slice(0, field.selectionStart).split("\n");
    setPlace({
      left: box.left + PADDING_PX + Math.min(box.width / 2, lines.at(-1)!.length * LETTER_PX),
      top: box.top + PADDING_PX + lines.length * LINE_PX - field.scrollTop,
    });
  };
  const take = (proposal: Proposal) => {
    const next = complete(field.value, field.selectionStart, proposal.text);
    props.change(next.text);
    field.value = next.text;
    field.setSelectionRange(next.cursor, next.cursor);
    field.focus();
    setProposals([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isOpen = proposals().length > 0;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) props.run();
    else if (isOpen && (event.key === "Tab" || event.key === "Enter")) take(proposals()[chosen()]!);
    else if (isOpen && event.key === "ArrowDown") setChosen((chosen() + 1) % proposals().length);
    else if (isOpen && event.key === "ArrowUp") setChosen((chosen() + proposals().length - 1) % proposals().length);
    else if (isOpen && event.key === "Escape") setProposals([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="editor">
      <textarea
        ref={field}
        class="mono"
        spellcheck={false}
        autocapitalize="off"
        aria-label="SQL statement"
        aria-autocomplete="list"
        aria-controls={proposals().length > 0 ? "proposals" : undefined}
        value={props.text}
        onInput={(event) => (props.change(event.currentTarget.value), look())}
        onClick={() => setProposals([])}
        onBlur={() => setTimeout(() => setProposals([]), 150)}
        onKeyDown={onKeyDown}
      />
      <Show when={proposals().length > 0}>
        <ul
          class="popover proposals"
          id="proposals"
          role="listbox"
          aria-label="Completions"
          style={{ left: `${place().left}px`, top: `${place().top}px` }}
        >
          <For each={proposals()}>
            {(proposal, place) => (
              <li
                role="option"
                aria-selected={place() === chosen()}
                onPointerDown={(event) => (event.preventDefault(), take(proposal))}
              >
                <span class="mono">{proposal.text}</span>
                <span class="faint">{proposal.note}</span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </div>
  );
}

/** The tables or the views, each with its columns and their types when opened. */
function SchemaTree(props: {
  title: string;
  schema: Schema;
  kind: "table" | "view";
  insert: (word: string) => void;
}): JSX.Element {
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set());
  const toggle = (table: string) =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(table)) after.add(table);
      return after;
    });
  const members = () => [...props.schema].filter(([, columns]) => columns[0]?.kind === props.kind);
  return (
    <Show when={members().length > 0}>
      <h2>{props.title}</h2>
      <For each={members()}>
        {([table, columns]) => (
          <>
            <button class="schema-table" aria-expanded={open().has(table)} onClick={() => toggle(table)}>
              <Icon name={open().has(table) ? "down" : "right"} size={12} />
              <span class="mono">{table}</span>
              <span class="faint">{columns.length}</span>
            </button>
            <Show when={open().has(table)}>
              <For each={columns}>
                {(column) => (
                  <button
                    class="schema-column"
                    title={`${column.column} ${column.type}\n${column.meaning}`}
                    onClick={() => props.insert(column.column)}
                  >
                    <span class="mono">{column.column}</span>
                    <span class="faint">{column.type}</span>
                  </button>
                )}
              </For>
            </Show>
          </>
        )}
      </For>
    </Show>
  );
}
