// The keys that work on every page. Single keys rest while a field has focus.
import { choice, choose, currentAddress, goTo } from "../state/route";
import { chosenSteps, ranks, source, stepsAddress, timelineOutline } from "../state/session";
import { toggleTheme } from "../state/theme";
import { railPages } from "./pages";
import { copyText } from "./Toast";

const AFTER_G_MS = 1500;
let lastG = 0;

export type ShellActions = { help: () => void; toggleRail: () => void };

/** Whether a key belongs to a field or a dialog and not to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const isField = target.matches?.("input, textarea, select, [contenteditable]");
  return isField || document.querySelector("dialog[open]") !== null;
}

export function followKeys(actions: ShellActions): void {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (event.target as HTMLElement).matches?.("input, textarea")) {
      (event.target as HTMLElement).blur();
      return;
    }
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (handle(event.key, actions)) event.preventDefault();
  });
}

function handle(key: string, actions: ShellActions): boolean {
  if (performance.now() - lastG < AFTER_G_MS) {
    lastG = 0;
    const entry = railPages().find((entry) => entry.key === key);
    if (entry) {
      goTo(entry.page);
      return true;
    }
  }
  switch (key) {
    case "g":
      lastG = performance.now();
      return true;
    case "?":
      actions.help();
      return true;
    case "/":
      focusSearch();
      return true;
    case "[":
    case "]":
      moveStep(key === "[" ? -1 : 1);
      return true;
    case "{":
    case "}":
      moveRank(key === "{" ? -1 : 1);
      return true;
    case "t":
      toggleTheme();
      return true;
    case "c":
      void copyText(currentAddress(), "Link");
      return true;
    case "\\":
      actions.toggleRail();
      return true;
    case "Escape":
      return upOneLevel();
    default:
      return false;
  }
}

function focusSearch(): void {
  const field =
    document.querySelector<HTMLInputElement>("main input[type=search]") ??
    document.querySelector<HTMLInputElement>("input[type=search]");
  field?.focus();
  field?.select();
}

function moveStep(by: number): void {
  const steps = timelineOutline()?.steps ?? [];
  if (steps.length === 0) return;
  const now = chosenSteps()?.first;
  const next = now === undefined ? (by > 0 ? 0 : steps.length - 1) : Math.min(steps.length - 1, Math.max(0, now + by));
  choose({ steps: stepsAddress(next, next), view: undefined });
}

function moveRank(by: number): void {
  const all = ranks();
  const next = all[all.indexOf(source()?.rank ?? 0) + by];
  if (next !== undefined) choose({ rank: String(next) });
}

/** Takes back the last thing that was narrowed: the selection, the search, the range, the steps. */
function upOneLevel(): boolean {
  for (const keys of [["sel"], ["q"], ["from", "to"], ["steps"]] as const) {
    if (keys.some((key) => choice(key) !== undefined)) {
      choose(Object.fromEntries(keys.map((key) => [key, undefined])));
      return true;
    }
  }
  return false;
}
