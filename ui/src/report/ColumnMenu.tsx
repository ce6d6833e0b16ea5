// Which columns of a table are shown, to choose from; each is listed once.
import { createEffect, createMemo, createSignal, For, onCleanup, Show, type JSX } from "solid-js";
import type { Column, TablePart } from "../server/types";
import { choosableColumns, distinctLabels } from "./columns";

export function ColumnMenu(props: {
  table: TablePart;
  isShown: (column: Column) => boolean;
  change: (name: string, shown: boolean) => void;
}): JSX.Element {
  const [isOpen, setIsOpen] = createSignal(false);
  const columns = createMemo(() => choosableColumns(props.table));
  const labels = createMemo(() => distinctLabels(columns()));
  let anchor!: HTMLSpanElement;
  createEffect(() => {
    if (!isOpen()) return;
    const close = (event: Event) => {
      if (!anchor.contains(event.target as Node) || (event instanceof KeyboardEvent && event.key === "Escape"))
        setIsOpen(false);
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close, true);
    onCleanup(() => (removeEventListener("pointerdown", close), removeEventListener("keydown", close, true)));
  });
  return (
    <span class="anchor" ref={anchor}>
      <button class="btn" aria-expanded={isOpen()} onClick={() => setIsOpen(!isOpen())}>
        Columns
      </button>
      <Show when={isOpen()}>
        <div class="popover">
          <For each={columns()}>
            {(column, place) => (
              <label>
                <input
                  type="checkbox"
                  checked={props.isShown(column)}
                  onChange={(event) => props.change(column.name, event.currentTarget.checked)}
                />
                {labels()[place()]}
              </label>
            )}
          </For>
        </div>
      </Show>
    </span>
  );
}
