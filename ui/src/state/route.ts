// Where we are: the page and everything that is chosen on it. It lives in the address, so that a link shows a
// colleague the same thing; only what differs from the default is written.
import { createMemo, createRoot, createSignal } from "solid-js";

/** What the address calls a page; those that are an analysis come from the server. */
export type Page = string;
const FIRST_PAGE: Page = "overview";

/** What the address may carry besides the page. */
export const KEYS = [
  "run",
  "rank",
  "ranks",
  "window",
  "device",
  "steps",
  "from",
  "to",
  "sort",
  "group",
  "values",
  "columns",
  "q",
  "sel",
  "view",
  "marks",
  "pin",
  "fold",
  "color",
  "arrows",
  "weight",
  "path",
  "whatif",
  "a",
  "b",
  "align",
] as const;
export type Key = (typeof KEYS)[number];
export type Choices = Partial<Record<Key, string>>;
export type Place = { page: Page; choices: Choices };

/** What a change of page keeps: the selectors, the range and the search. */
const CARRIED: Key[] = ["run", "rank", "window", "steps", "from", "to", "a", "b"];

/** What means something in one recording only. */
const OF_RECORDING: Key[] = ["device", "sel", "view", "marks", "pin", "fold"];
/** What is left behind with a run, a rank or a window, as it would mean something else in the next one. */
const LEFT_WITH: Partial<Record<Key, Key[]>> = {
  run: ["rank", "ranks", "window", "steps", "from", "to", ...OF_RECORDING],
  // Steps and times from the first of them are the same in all ranks of a job.
  rank: ["window", "device", "sel", "marks", "pin", "fold"],
  window: ["steps", "from", "to", ...OF_RECORDING],
  // Blocks and stacks are numbered on each device.
  device: ["sel"],
  // The step that two runs are aligned by, and what is seen of it.
  a: ["align", "view"],
  b: ["align", "view"],
};

/** Choices after a change; what does not follow to another run, rank or window is dropped. */
export function changed(before: Choices, changes: Choices): Choices {
  const kept = { ...before };
  for (const [key, left] of Object.entries(LEFT_WITH) as [Key, Key[]][]) {
    if (key in changes && changes[key] !== before[key]) for (const dropped of left) delete kept[dropped];
  }
  return { ...kept, ...changes };
}

export function parseHash(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  const page = path || FIRST_PAGE;
  const choices: Choices = {};
  for (const [name, value] of new URLSearchParams(search)) {
    if ((KEYS as readonly string[]).includes(name) && value !== "") choices[name as Key] = value;
  }
  return { page, choices };
}

export function writeHash({ page, choices }: Place): string {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    const value = choices[key];
    if (value !== undefined && value !== "") parameters.set(key, value);
  }
  const search = parameters.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return search === "" ? `#/${page}` : `#/${page}?${search}`;
}

const [place, setPlace] = createSignal<Place>(parseHash(typeof location === "undefined" ? "" : location.hash));

// One memo a choice, so that a page hears only of the choices it asks for.
const watched = createRoot(() => ({
  page: createMemo(() => place().page),
  choices: Object.fromEntries(KEYS.map((key) => [key, createMemo(() => place().choices[key])])) as Record<
    Key,
    () => string | undefined
  >,
}));

export const currentPage = watched.page;
export const choice = (key: Key): string | undefined => watched.choices[key]();

/** All choices of the address. */
export const choices = (): Choices => place().choices;

/** What replaces an entry of the history is written when it has rested: browsers take only so many of them. */
const REST_MS = 100;
let unwritten: { hash: string; timer: number } | undefined;

function writeLater(hash: string): void {
  clearTimeout(unwritten?.timer);
  unwritten = { hash, timer: window.setTimeout(writeNow, REST_MS) };
}

function writeNow(): void {
  if (!unwritten) return;
  clearTimeout(unwritten.timer);
  window.history.replaceState(null, "", unwritten.hash);
  unwritten = undefined;
}

/** The address of everything that is on screen. */
export function currentAddress(): string {
  writeNow();
  return location.href;
}

/** Follows the address bar; call once. */
export function followAddress(): void {
  addEventListener("hashchange", () => {
    clearTimeout(unwritten?.timer);
    unwritten = undefined;
    setPlace(parseHash(location.hash));
  });
  addEventListener("pagehide", writeNow);
}

/** The address of another page, with what carries over. */
export function pageAddress(page: Page, changes: Choices = {}): string {
  const carried: Choices = {};
  for (const key of CARRIED) carried[key] = place().choices[key];
  return writeHash({ page, choices: changed(carried, changes) });
}

export function goTo(page: Page, changes: Choices = {}): void {
  writeNow();
  location.hash = pageAddress(page, changes);
}

/** The address of this page with other choices. */
export function addressWith(changes: Choices): string {
  return writeHash({ page: place().page, choices: changed(place().choices, changes) });
}

/** Changes choices on this page. A new entry in the history, unless it is as small as a pan. */
export function choose(changes: Choices, history: "push" | "replace" = "push"): void {
  const next = { page: place().page, choices: changed(place().choices, changes) };
  const hash = writeHash(next);
  if (hash === writeHash(place())) return;
  if (history === "replace") writeLater(hash);
  else {
    writeNow();
    window.history.pushState(null, "", hash);
  }
  setPlace(next);
}
