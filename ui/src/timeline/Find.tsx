// The search field of the timeline: how many events match, which of them is selected, and the way to the others.
import { onCleanup, onMount, Show, type JSX } from "solid-js";
import { Icon } from "../shell/icons";
import { choice, choose } from "../state/route";
import type { TimelineSearch } from "./search";
import { matchWords } from "./walk";

const RULE = "Matches any part of a name, ignoring case.";

export function Find(props: { search: TimelineSearch }): JSX.Element {
  let field!: HTMLInputElement;
  // The browser's own search does not see names on a canvas; pressed twice, it opens as usual.
  const onKey = (event: KeyboardEvent) => {
    if (document.querySelector("dialog[open]")) return;
    const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "f";
    if (isFind && document.activeElement !== field) {
      field.focus();
      field.select();
    } else if (event.key === "F3" && props.search.text() !== "") props.search.goToMatch(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  onMount(() => {
    addEventListener("keydown", onKey);
    onCleanup(() => removeEventListener("keydown", onKey));
  });
  return (
    <>
      <label class="field" title={RULE}>
        <Icon name="search" size={14} />
        <input
          ref={field}
          type="search"
          placeholder="Find in timeline"
          aria-label="Find in timeline"
          aria-description={RULE}
          autocomplete="off"
          value={choice("q") ?? ""}
          onInput={(event) => choose({ q: event.currentTarget.value || undefined }, "replace")}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            props.search.goToMatch(event.shiftKey ? -1 : 1);
          }}
        />
        <kbd>/</kbd>
      </label>
      <Show when={props.search.text() !== ""}>
        <span class="walk">
          <button
            class="icon"
            aria-label="Previous match"
            title="Previous match (Shift+Enter)"
            disabled={!props.search.count()}
            onClick={() => props.search.goToMatch(-1)}
          >
            <Icon name="up" size={14} />
          </button>
          <button
            class="icon"
            aria-label="Next match"
            title="Next match (Enter)"
            disabled={!props.search.count()}
            onClick={() => props.search.goToMatch(1)}
          >
            <Icon name="down" size={14} />
          </button>
          <span class="muted" role="status">
            {matchWords(props.search.place(), props.search.count(), props.search.hasFailed())}
          </span>
        </span>
      </Show>
    </>
  );
}
