// A table of any length: sorts, filters, expands, draws shares in its cells. It knows nothing of what the rows mean.
import { createComputed, createEffect, createMemo, createSignal, For, Index, on, Show, type JSX } from "solid-js";
import type { Cell, Missing, TablePart } from "../server/types";
import { Icon } from "../shell/icons";
import { CellView } from "./cells";
import { gridTemplate, shownColumns, type ShownColumn, type Spelling } from "./columns";
import { detailLines, rowKeys } from "./row_keys";
import { arrange, writeSort, type Sort } from "./rows";
import { openAtFirst, parentPlaces, treeRows } from "./tree";
import { createVirtualRows } from "./virtual";

const ROW_PX = 28;
const DETAIL_LINE_PX = 18;
const DETAIL_PADDING_PX = 12;
const DETAIL_INDENT_PX = 60;
const LETTER_PX = 7.4;
/** How far a row stands in from the row that holds it. */
const INDENT_PX = 16;

/** Rows below a row: the same columns, the first cell says what sets them apart. */
export type SubRows = (row: Cell[]) => Cell[][] | undefined;

type Item =
  | { kind: "row"; place: number; depth: number; hasChildren: boolean; isOpen: boolean }
  | { kind: "sub"; row: Cell[]; parent: number } | { kind: "detail"; text: string };

export type DataGridProps = {
  table: TablePart;
  missing: Missing[];
  label: string;
  filter: string;
  sort: Sort | undefined;
  isShown: (column: TablePart["columns"][number]) => boolean;
  changeSort: (sort: Sort) => void;
  /** Rows of a query keep the names of its columns. */
  spelling?: Spelling;
  /** The key of the chosen row. */
  chosen?: string;
  choose?: (key: string) => void;
  open?: (row: Cell[]) => void;
  /** Whether rows can be opened up, and what is then below them. */
  canExpand?: boolean;
  /** Whether rows stand below the rows that their column `parent` names. */
  isTree?: boolean;
  subRows?: SubRows;
  onExpand?: () => void;
};

export function DataGrid(props: DataGridProps): JSX.Element {
  let scroller!: HTMLDivElement;
  const [expanded, setExpanded] = createSignal<ReadonlySet<number>>(new Set());
  const columns = createMemo(() => shownColumns(props.table, props.missing, props.isShown, props.spelling));
  const template = createMemo(() => gridTemplate(columns()));
  const order = createMemo(() => arrange(props.table, props.filter, props.sort));
  const details = createMemo(() =>
    props.table.columns.flatMap((column, place) => (column.look === "detail" ? [place] : [])),
  );
  const classPlace = createMemo(() => props.table.columns.findIndex((column) => column.look === "class"));
  const canExpand = () => props.isTree === true || props.canExpand === true || details().length > 0;
  const parents = createMemo(() => (props.isTree ? parentPlaces(props.table) : undefined));
  // Rows of another table are other rows.
  createComputed(on(parents, (parents) => parents && setExpanded(openAtFirst(parents))));
  const items = createMemo((): Item[] => {
    const tree = parents();
    if (tree)
      return treeRows(order(), tree, (place) => expanded().has(place)).map((row) => ({ kind: "row", ...row }));
    return order().flatMap((place): Item[] => [
      { kind: "row", place, depth: 0, hasChildren: canExpand(), isOpen: expanded().has(place) },
      ...below(place),
    ]);
  });

  function below(place: number): Item[] {
    if (!expanded().has(place)) return [];
    const row = props.table.rows[place] ?? [];
    const text = details()
      .flatMap((at) => {
        const cell = row[at];
        return typeof cell === "string" && cell !== "" ? detailLines(props.table.columns[at]!, cell) : [];
      })
      .join("\n");
    const subRows = props.subRows?.(row) ?? [];
    return [
      ...(text ? [{ kind: "detail" as const, text }] : []),
      ...subRows.map((row) => ({ kind: "sub" as const, row, parent: place })),
    ];
  }

  const sizeOf = (index: number) => {
    const item = items()[index];
    if (item?.kind !== "detail") return ROW_PX;
    // A line that is longer than the table is wide is broken.
    const letters = Math.max(40, Math.floor((scroller.clientWidth - DETAIL_INDENT_PX) / LETTER_PX));
    const lines = item.text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / letters)), 0);
    return lines * DETAIL_LINE_PX + DETAIL_PADDING_PX;
  };
  const rows = createVirtualRows(
    () => scroller,
    () => items().length,
    sizeOf,
  );

  const toggle = (place: number) => {
    props.onExpand?.();
    setExpanded((before) => {
      const after = new Set(before);
      if (!after.delete(place)) after.add(place);
      return after;
    });
  };
  const keys = createMemo(() => rowKeys(props.table));
  const isChosen = (item: Item) =>
    item.kind === "row" && props.chosen !== undefined && keys()[item.place] === props.chosen;

  // A link to a row shows it, in a tree too.
  createEffect(
    on([() => props.chosen, keys], ([chosen]) => {
      const place = chosen === undefined ? -1 : keys().indexOf(chosen);
      if (place < 0) return;
      const around: number[] = [];
      for (let at = parents()?.[place] ?? -1; at >= 0; at = parents()![at]!) around.push(at);
      if (around.length > 0) setExpanded((before) => new Set([...before, ...around]));
      const index = items().findIndex(isChosen);
      if (index >= 0) rows.show(index);
    }),
  );

  // A row that the address names is brought on screen; one that was clicked is there already.
  let isShown = false;
  createEffect(() => {
    const place = isShown || props.chosen === undefined ? -1 : items().findIndex(isChosen);
    if (place < 0) return;
    isShown = true;
    requestAnimationFrame(() => rows.show(place));
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller) return;
    const now = items().findIndex(isChosen);
    const item = items()[now];
    const move = (by: number) => {
      let next = now < 0 ? -1 : now;
      do next += by;
      while (items()[next] && items()[next]!.kind !== "row");
      const found = items()[now < 0 ? 0 : next];
      if (found?.kind !== "row") return;
      props.choose?.(keys()[found.place] ?? "");
      rows.show(now < 0 ? 0 : next);
    };
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && item?.kind === "row") props.open?.(props.table.rows[item.place] ?? []);
    else if (event.key === "e" && item?.kind === "row" && item.hasChildren) toggle(item.place);
    else return;
    event.preventDefault();
  };

  return (
    <div
      class="grid"
      ref={scroller}
      role="table"
      aria-label={props.label}
      aria-rowcount={order().length + 1}
      tabindex="0"
      onKeyDown={onKeyDown}
    >
      <div class="sheet">
        <div role="rowgroup">
          <div class="row head" role="row" style={{ "grid-template-columns": template() }}>
            <For each={columns()}>
              {(column) => <Header column={column} sort={props.sort} changeSort={props.changeSort} />}
            </For>
          </div>
        </div>
        <div class="body" role="rowgroup" style={{ height: `${rows.height()}px` }}>
          <Index each={rows.items()}>
            {(virtual) => {
              const item = () => items()[virtual().index];
              return (
                <Show when={item()}>
                  {(item) => (
                    <div
                      class="row"
                      role="row"
                      aria-rowindex={virtual().index + 2}
                      classList={{
                        chosen: isChosen(item()),
                        sub: item().kind === "sub",
                        detail: item().kind === "detail",
                      }}
                      style={{
                        transform: `translateY(${virtual().start}px)`,
                        height: `${virtual().size}px`,
                        "grid-template-columns": template(),
                      }}
                      onClick={() => {
                        const clicked = item();
                        if (clicked.kind === "row") props.choose?.(keys()[clicked.place] ?? "");
                      }}
                      onDblClick={() => {
                        const clicked = item();
                        if (clicked.kind === "row") props.open?.(props.table.rows[clicked.place] ?? []);
                      }}
                    >
                      <RowCells item={item()} />
                    </div>
                  )}
                </Show>
              );
            }}
          </Index>
        </div>
        <Show when={order().length === 0}>
          <p class="nothing">{props.table.rows.length === 0 ? "No rows." : "No row matches the filter."}</p>
        </Show>
      </div>
    </div>
  );

  function RowCells(inner: { item: Item }): JSX.Element {
    const row = () =>
      inner.item.kind === "row"
        ? (props.table.rows[inner.item.place] ?? [])
        : inner.item.kind === "sub"
          ? inner.item.row
          : [];
    const depth = () => (inner.item.kind === "row" ? inner.item.depth : 0);
    return (
      <Show
        when={inner.item.kind !== "detail"}
        fallback={
          <div role="cell">
            <pre>{inner.item.kind === "detail" ? inner.item.text : ""}</pre>
          </div>
        }
      >
        <For each={columns()}>
          {(column, place) => (
            <div
              class="cell"
              role="cell"
              classList={{ num: column.isNumber, name: place() === 0 }}
              style={{ "padding-left": place() === 0 && depth() > 0 ? `${8 + depth() * INDENT_PX}px` : undefined }}
            >
              <Show when={place() === 0 && canExpand()}>
                <Show when={inner.item.kind === "row" && inner.item.hasChildren} fallback={<span class="twisty" />}>
                  <button
                    class="twisty"
                    tabindex="-1"
                    aria-label="Expand"
                    aria-expanded={inner.item.kind === "row" && inner.item.isOpen}
                    onClick={(event) => {
                      event.stopPropagation();
                      if (inner.item.kind === "row") toggle(inner.item.place);
                    }}
                  >
                    <Icon name="right" size={12} />
                  </button>
                </Show>
              </Show>
              <CellView
                shown={column}
                cell={row()[column.place] ?? null}
                row={row()}
                classPlace={classPlace()}
                open={props.open && inner.item.kind === "row" ? () => props.open?.(row()) : undefined}
              />
            </div>
          )}
        </For>
      </Show>
    );
  }
}

function Header(props: { column: ShownColumn; sort: Sort | undefined; changeSort: (sort: Sort) => void }): JSX.Element {
  const name = () => props.column.column.name;
  const isSorted = () => props.sort?.name === name();
  const next = (): Sort => ({
    name: name(),
    isDescending: isSorted() ? !props.sort!.isDescending : props.column.isNumber,
  });
  const title = () => props.column.label + (props.column.symbol ? `, ${props.column.symbol}` : "");
  return (
    <div
      role="columnheader"
      class={props.column.isNumber ? "num" : ""}
      classList={{ sorted: isSorted() }}
      aria-sort={isSorted() ? (props.sort!.isDescending ? "descending" : "ascending") : undefined}
    >
      <Show when={title()} fallback={<span class="hidden-text">{name()}</span>}>
        <button title={`Sort by ${writeSort(next())}`} onClick={() => props.changeSort(next())}>
          {title()}
          <Show when={isSorted()}>
            <span aria-hidden="true">{props.sort!.isDescending ? "↓" : "↑"}</span>
          </Show>
        </button>
      </Show>
    </div>
  );
}
