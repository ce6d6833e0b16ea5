// A table of any length: sorts, filters, expands, draws shares in its cells. It knows nothing of what the rows mean.
import { createMemo, createSignal, For, Index, Show, type JSX } from "solid-js";
import type { Cell, Missing, TablePart } from "../server/types";
import { Icon } from "../shell/icons";
import { CellView } from "./cells";
import { gridTemplate, shownColumns, type ShownColumn } from "./columns";
import { arrange, writeSort, type Sort } from "./rows";
import { createVirtualRows } from "./virtual";

const ROW_PX = 28;
const DETAIL_LINE_PX = 18;
const DETAIL_PADDING_PX = 12;

/** Rows below a row: the same columns, the first cell says what sets them apart. */
export type SubRows = (row: Cell[]) => Cell[][] | undefined;

type Item =
  { kind: "row"; place: number } | { kind: "sub"; row: Cell[]; parent: number } | { kind: "detail"; text: string };

export type DataGridProps = {
  table: TablePart;
  missing: Missing[];
  label: string;
  filter: string;
  sort: Sort | undefined;
  isShown: (column: TablePart["columns"][number]) => boolean;
  changeSort: (sort: Sort) => void;
  chosen?: string;
  choose?: (row: Cell[]) => void;
  open?: (row: Cell[]) => void;
  /** Whether rows can be opened up, and what is then below them. */
  canExpand?: boolean;
  subRows?: SubRows;
  onExpand?: () => void;
};

export function DataGrid(props: DataGridProps): JSX.Element {
  let scroller!: HTMLDivElement;
  const [expanded, setExpanded] = createSignal<ReadonlySet<number>>(new Set());
  const columns = createMemo(() => shownColumns(props.table, props.missing, props.isShown));
  const template = createMemo(() => gridTemplate(columns()));
  const order = createMemo(() => arrange(props.table, props.filter, props.sort));
  const details = createMemo(() =>
    props.table.columns.flatMap((column, place) => (column.look === "detail" ? [place] : [])),
  );
  const classPlace = createMemo(() => props.table.columns.findIndex((column) => column.look === "class"));
  const canExpand = () => props.canExpand === true || details().length > 0;
  const items = createMemo((): Item[] =>
    order().flatMap((place) => [{ kind: "row" as const, place }, ...below(place)]),
  );

  function below(place: number): Item[] {
    if (!expanded().has(place)) return [];
    const row = props.table.rows[place] ?? [];
    const text = details()
      .map((at) => row[at])
      .filter((cell) => typeof cell === "string" && cell !== "")
      .join("\n");
    const subRows = props.subRows?.(row) ?? [];
    return [
      ...(text ? [{ kind: "detail" as const, text }] : []),
      ...subRows.map((row) => ({ kind: "sub" as const, row, parent: place })),
    ];
  }

  const sizeOf = (index: number) => {
    const item = items()[index];
    return item?.kind === "detail" ? item.text.split("\n").length * DETAIL_LINE_PX + DETAIL_PADDING_PX : ROW_PX;
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
  const key = (row: Cell[]) => String(row[0] ?? "");
  const isChosen = (item: Item) =>
    item.kind === "row" && props.chosen !== undefined && key(props.table.rows[item.place] ?? []) === props.chosen;

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
      props.choose?.(props.table.rows[found.place] ?? []);
      rows.show(now < 0 ? 0 : next);
    };
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && item?.kind === "row") props.open?.(props.table.rows[item.place] ?? []);
    else if (event.key === "e" && item?.kind === "row" && canExpand()) toggle(item.place);
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
                        if (clicked.kind === "row") props.choose?.(props.table.rows[clicked.place] ?? []);
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
            <div class="cell" role="cell" classList={{ num: column.isNumber, name: place() === 0 }}>
              <Show when={place() === 0 && canExpand()}>
                <Show when={inner.item.kind === "row"} fallback={<span class="twisty" />}>
                  <button
                    class="twisty"
                    tabindex="-1"
                    aria-label="Expand"
                    aria-expanded={inner.item.kind === "row" && expanded().has(inner.item.place)}
                    onClick={(event) => {
                      event.stopPropagation();
                      if (inner.item.kind === "row") toggle(inner.item.place);
                    }}
                  >
                    <Icon name="right" size={12} />
                  </button>
                </Show>
              </Show>
              <CellView shown={column} cell={row()[column.place] ?? null} row={row()} classPlace={classPlace()} />
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
