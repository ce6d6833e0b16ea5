// The search in the top bar: it lists what it finds while somebody types, and leads to it.
import { createMemo, createSignal, createUniqueId, For, onCleanup, onMount, Show, type JSX } from "solid-js";
import { count } from "../format/number";
import { written } from "../format/say";
import type { Report } from "../server/types";
import { findingsOf } from "../pages/finding_rows";
import { showWorst } from "../pages/show_worst";
import { analysis, names, type SourceKey } from "../server/questions";
import { createAnswer } from "../state/answer";
import { choose, currentPage, goTo } from "../state/route";
import { run, scope, sourceKey } from "../state/session";
import { Icon } from "./icons";
import { railPages } from "./pages";
import { moved, resultGroups, stillHolding, type Result } from "./results";

const LABEL = "Search names, findings and pages";
const TYPING_MS = 100;
type Asked = { source: SourceKey; text: string };

export function SearchBox(): JSX.Element {
  const id = createUniqueId();
  let field!: HTMLInputElement;
  let form!: HTMLFormElement;
  const [text, setText] = createSignal("");
  const [asked, setAsked] = createSignal<Asked>();
  const [isOpen, setIsOpen] = createSignal(false);
  const [active, setActive] = createSignal<number>();
  let timer = 0;
  onCleanup(() => clearTimeout(timer));

  const [named] = createAnswer(asked, async (asked, signal) => ({
    text: asked.text,
    groups: (await names(asked.source, asked.text, signal)).groups,
  }));
  // Asked once somebody searches; the overview has asked the same before, as a rule.
  const question = createMemo(() => {
    const [name, parameters] = [run()?.run, scope()];
    return isOpen() && name !== undefined && parameters ? { run: name, parameters } : undefined;
  });
  const [diagnosed] = createAnswer(question, ({ run, parameters }) => analysis(run, "diagnose", parameters));

  const wanted = () => text().trim();
  const isCurrent = () => !sourceKey() || named.latest?.text === wanted() || named.error !== undefined;
  const groups = createMemo(() =>
    wanted() === ""
      ? []
      : resultGroups(wanted(), {
          pages: railPages(),
          findings: diagnosed.latest && !diagnosed.error ? foundTitles(diagnosed.latest) : [],
          names: named.error || !named.latest ? [] : stillHolding(named.latest.groups, named.latest.text, wanted()),
        }),
  );
  const results = createMemo(() => groups().flatMap((group) => group.results));
  const placeOf = (result: Result) => results().indexOf(result);
  const status = () => {
    if (!isOpen() || wanted() === "") return "";
    if (named.error) return "Search failed";
    if (!isCurrent()) return "Searching";
    const all = groups().reduce((sum, group) => sum + (group.key === "events" ? 0 : group.count), 0);
    return all === 0 ? "No matching name, finding or page" : `${count(all)} ${all === 1 ? "result" : "results"}`;
  };

  function type(value: string): void {
    setText(value);
    setActive(undefined);
    setIsOpen(true);
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const source = sourceKey();
      setAsked(source && wanted() !== "" ? { source, text: wanted() } : undefined);
    }, TYPING_MS);
  }

  function go(result: Result): void {
    setIsOpen(false);
    field.blur();
    if ("finding" in result.destination) void showWorst(result.destination.finding);
    else if (result.destination.page === "timeline" && currentPage() === "timeline")
      choose({ sel: undefined, from: undefined, to: undefined, ...result.destination.changes });
    else goTo(result.destination.page, result.destination.changes);
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setIsOpen(true);
      setActive(moved(active(), event.key === "ArrowDown" ? 1 : -1, results().length));
      document.getElementById(optionId(active() ?? -1))?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      const chosen = results()[active() ?? 0];
      if (chosen) go(chosen);
    } else if (event.key === "Escape" && isOpen() && wanted() !== "") {
      setIsOpen(false);
      // The first Escape closes the list, the second leaves the field.
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  const optionId = (place: number) => `${id}-${place}`;

  onMount(() => {
    const onKey = (event: KeyboardEvent) => {
      const isAsked = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "k";
      if (!isAsked || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      field.focus();
      field.select();
    };
    const onPointer = (event: PointerEvent) => {
      if (!form.contains(event.target as Node)) setIsOpen(false);
    };
    addEventListener("keydown", onKey);
    addEventListener("pointerdown", onPointer);
    onCleanup(() => (removeEventListener("keydown", onKey), removeEventListener("pointerdown", onPointer)));
  });

  return (
    <form
      class="field topsearch"
      role="search"
      ref={form}
      onSubmit={(event) => event.preventDefault()}
      onFocusOut={(event) => !form.contains(event.relatedTarget as Node | null) && setIsOpen(false)}
    >
      <Icon name="search" size={14} />
      <input
        ref={field}
        type="search"
        name="q"
        autocomplete="off"
        spellcheck={false}
        placeholder="Search this run"
        aria-label={LABEL}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isOpen() && groups().length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={isOpen() && active() !== undefined ? optionId(active()!) : undefined}
        value={text()}
        onInput={(event) => type(event.currentTarget.value)}
        onFocus={() => type(field.value)}
        onKeyDown={onKeyDown}
      />
      <kbd>Ctrl K</kbd>
      <span class="hidden-text" role="status">
        {status()}
      </span>
      <div
        class="popover results"
        hidden={!isOpen() || groups().length === 0}
        // A click must not take the focus away before it has chosen.
        onPointerDown={(event) => event.preventDefault()}
      >
        <div role="listbox" id={`${id}-list`} aria-label="Results">
          <For each={groups()}>
            {(group) => (
              <div role="group" aria-label={`${group.label}, ${count(group.count)}`}>
                <Show when={group.key !== "events"}>
                  <div class="cap" aria-hidden="true">
                    {group.label} <span class="n">{count(group.count)}</span>
                  </div>
                </Show>
                <For each={group.results}>
                  {(result) => (
                    <div
                      role="option"
                      id={optionId(placeOf(result))}
                      class="result"
                      aria-selected={active() === placeOf(result)}
                      title={result.whole}
                      onPointerMove={() => setActive(placeOf(result))}
                      onClick={() => go(result)}
                    >
                      <span class="what" classList={{ mono: result.isName }}>
                        {result.label}
                      </span>
                      <span class="note">{result.note}</span>
                    </div>
                  )}
                </For>
              </div>
            )}
          </For>
        </div>
        <p class="nothing" aria-hidden="true">
          {status()}
        </p>
      </div>
    </form>
  );
}

function foundTitles(report: Report): { rule: string; title: string }[] {
  return findingsOf(report).map(({ rule, title }) => ({ rule, title: written(title) }));
}
