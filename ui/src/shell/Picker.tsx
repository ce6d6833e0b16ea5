// A choice among hundreds: a button that opens a field to type in, and the entries that match.
import { createMemo, createSignal, createUniqueId, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { count } from "../format/number";
import { matchingOptions, type Option } from "./picked";

/** More entries than these are not worth scrolling through: typing is quicker. */
const MOST_SHOWN = 100;

export function Picker(props: {
  label: string;
  value: string;
  options: Option[];
  choose: (value: string) => void;
}): JSX.Element {
  const [isOpen, setIsOpen] = createSignal(false);
  let button!: HTMLButtonElement;
  const text = () => props.options.find(([value]) => value === props.value)?.[1] ?? props.value;
  const close = (isBack: boolean) => {
    setIsOpen(false);
    if (isBack) button.focus();
  };
  return (
    <span class="picker">
      <button
        ref={button}
        class="picked"
        aria-haspopup="listbox"
        aria-expanded={isOpen()}
        aria-label={`${props.label}: ${text()}`}
        title={text()}
        onClick={() => setIsOpen(!isOpen())}
      >
        {text()}
      </button>
      <Show when={isOpen()}>
        <Entries
          label={props.label}
          value={props.value}
          options={props.options}
          choose={(value) => (close(true), props.choose(value))}
          close={close}
        />
      </Show>
    </span>
  );
}

function Entries(props: {
  label: string;
  value: string;
  options: Option[];
  choose: (value: string) => void;
  close: (isBack: boolean) => void;
}): JSX.Element {
  const list = createUniqueId();
  let field!: HTMLInputElement;
  let frame!: HTMLDivElement;
  const [typed, setTyped] = createSignal("");
  const [place, setPlace] = createSignal(0);
  const matching = createMemo(() => matchingOptions(props.options, typed()));
  // Before anything is typed, the entry that is chosen stands among its neighbors.
  const first = createMemo(() => {
    if (typed() !== "") return 0;
    const chosen = matching().findIndex(([value]) => value === props.value);
    return Math.max(0, Math.min(chosen - MOST_SHOWN / 2, matching().length - MOST_SHOWN));
  });
  const shown = () => matching().slice(first(), first() + MOST_SHOWN);
  const show = () => frame.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  const move = (by: number) => {
    setPlace(Math.max(0, Math.min(shown().length - 1, place() + by)));
    show();
  };
  onMount(() => {
    setPlace(Math.max(0, shown().findIndex(([value]) => value === props.value)));
    field.focus();
    show();
    const leave = (event: PointerEvent) => {
      if (!frame.parentElement?.contains(event.target as Node)) props.close(false);
    };
    document.addEventListener("pointerdown", leave);
    onCleanup(() => document.removeEventListener("pointerdown", leave));
  });
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key in moves) move(moves[event.key]!);
    else if (event.key === "Enter") {
      const entry = shown()[place()];
      if (entry) props.choose(entry[0]);
    } else if (event.key === "Escape") props.close(true);
    else if (event.key === "Tab") {
      props.close(false);
      return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="popover entries" ref={frame}>
      <div class="field">
        <input
          ref={field}
          type="text"
          role="combobox"
          aria-label={`Filter ${props.label.toLowerCase()}`}
          aria-controls={list}
          aria-expanded="true"
          aria-activedescendant={shown().length > 0 ? `${list}-${place()}` : undefined}
          autocomplete="off"
          placeholder={`Type to filter ${count(props.options.length)}`}
          onInput={(event) => (setTyped(event.currentTarget.value), setPlace(0))}
          onKeyDown={onKey}
        />
      </div>
      <div id={list} role="listbox" aria-label={props.label}>
        <For each={shown()}>
          {([value, text], at) => (
            <div
              id={`${list}-${at()}`}
              role="option"
              aria-selected={at() === place()}
              classList={{ chosen: value === props.value }}
              title={text}
              onPointerMove={() => setPlace(at())}
              onClick={() => props.choose(value)}
            >
              {text}
            </div>
          )}
        </For>
      </div>
      <Show when={matching().length === 0 || matching().length > shown().length}>
        <p class="faint">
          {matching().length === 0
            ? "No match."
            : `${count(matching().length - shown().length)} more; type to filter`}
        </p>
      </Show>
    </div>
  );
}
