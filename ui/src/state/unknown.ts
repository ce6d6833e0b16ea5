// Choices of an address that mean nothing in what is open: another server's run, a rank that is not there, a range
// outside of the recording. The page says so by name and shows no figures.
import { figureText } from "../format/number";
import type { Run, TimelineOutline } from "../server/types";
import type { Choices, Key, Page } from "./route";

export type Unknown = {
  /** What is not there, and what is. */
  text: string;
  /** The choices that name it, to be taken away. */
  keys: Key[];
  /** What the link says that takes them away. */
  remedy: string;
};

/** What the address is read against; what is not known yet is not judged. */
export type Open = {
  runs: Run[];
  /** The run of the address. */
  run: Run | undefined;
  outline: TimelineOutline | undefined;
};

export type Range = { from: number; to: number };

const WHOLE_NUMBER = /^\d+$/;
const STEPS = /^(\d+)(?:-(\d+))?$/;
const MOST_NAMES = 6;

/** The widest fault alone: what is wrong inside of an unknown run cannot be known. */
export function unknownChoices(page: Page, choices: Choices, open: Open): Unknown[] {
  if (page === "compare") return unknownSides(choices, open.runs);
  const { run } = open;
  if (!run) return choices.run === undefined ? [] : [unknownRun("run", choices.run, open.runs)];
  if (run.state !== "ready") return [];
  const rank = unknownRank(choices, run);
  if (rank) return [rank];
  const window = unknownWindow(choices, run);
  if (window) return [window];
  // A statement in SQL is about the whole run.
  if (!open.outline || page === "sql") return [];
  return [unknownSteps(choices, open.outline), unknownRange(choices, open.outline)].filter((each) => each !== undefined);
}

/** The steps of an address by number; undefined if they are no steps. */
export function stepNumbers(text: string | undefined): { first: number; last: number } | undefined {
  const match = STEPS.exec(text ?? "");
  return match ? { first: Number(match[1]), last: Number(match[2] ?? match[1]) } : undefined;
}

/** The range of an address; undefined if it is none. */
export function rangeOf(choices: Choices): Range | undefined {
  if (choices.from === undefined || choices.to === undefined) return undefined;
  const range = { from: Number(choices.from), to: Number(choices.to) };
  return Number.isFinite(range.from) && Number.isFinite(range.to) && range.to > range.from ? range : undefined;
}

/** Numbers in words, runs of them as one: `0 to 7, 12 and 14`. */
export function numbersInWords(numbers: number[]): string {
  const runs: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  return inWords(runs.map(([first, last]) => (first === last ? String(first) : `${first} to ${last}`)));
}

function inWords(words: string[]): string {
  if (words.length > MOST_NAMES) return `${words.slice(0, MOST_NAMES).join(", ")} and ${words.length - MOST_NAMES} more`;
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function unknownSides(choices: Choices, runs: Run[]): Unknown[] {
  const isThere = (name: string) => runs.some((run) => run.run === name);
  return (["a", "b"] as const).flatMap((side) => {
    const name = choices[side];
    return name === undefined || isThere(name) ? [] : [unknownRun(side, name, runs)];
  });
}

function unknownRun(key: "run" | "a" | "b", name: string, runs: Run[]): Unknown {
  const names = inWords(runs.map((run) => run.run));
  const text = `Run ${name} is not open here; ${runs.length === 1 ? "the open run is" : "open runs are"} ${names}`;
  const keys: Key[] = key === "run" ? ["run", "rank", "window", "steps", "from", "to", "sel", "view", "marks"] : [key];
  return { text, keys, remedy: `Remove run ${name}` };
}

function unknownRank({ rank }: Choices, run: Run): Unknown | undefined {
  const ranks = [...new Set(run.sources.map((source) => source.rank))];
  if (rank === undefined || (WHOLE_NUMBER.test(rank) && ranks.includes(Number(rank)))) return undefined;
  const has = ranks.length === 1 ? `rank ${ranks[0]} only` : `ranks ${numbersInWords(ranks)}`;
  return {
    text: `Rank ${rank} is not in this run; it has ${has}`,
    keys: ["rank", "window"],
    remedy: `Remove rank ${rank}`,
  };
}

function unknownWindow({ rank, window }: Choices, run: Run): Unknown | undefined {
  const ofRank = rank === undefined ? run.sources[0]?.rank : Number(rank);
  const windows = run.sources.filter((source) => source.rank === ofRank).map((source) => source.window);
  if (window === undefined || (WHOLE_NUMBER.test(window) && windows.includes(Number(window)))) return undefined;
  const has = windows.length === 1 ? `window ${windows[0]} only` : `windows ${numbersInWords(windows)}`;
  return {
    text: `Window ${window} is not in rank ${ofRank}; it has ${has}, counted from 0`,
    keys: ["window"],
    remedy: `Remove window ${window}`,
  };
}

function unknownSteps({ steps }: Choices, outline: TimelineOutline): Unknown | undefined {
  if (steps === undefined) return undefined;
  const asked = stepNumbers(steps);
  const numbers = outline.steps.map((step) => step.number);
  if (asked && numbers.some((number) => number >= asked.first && number <= asked.last)) return undefined;
  const has =
    numbers.length === 0
      ? "it has no steps"
      : `it has ${numbers.length === 1 ? "step" : "steps"} ${numbersInWords(numbers)}`;
  const what =
    asked && asked.last > asked.first
      ? `Steps ${asked.first} to ${asked.last} are not in this trace`
      : `Step ${steps} is not in this trace`;
  return { text: `${what}; ${has}`, keys: ["steps"], remedy: "Remove the steps" };
}

function unknownRange(choices: Choices, outline: TimelineOutline): Unknown | undefined {
  if (choices.from === undefined && choices.to === undefined) return undefined;
  const keys: Key[] = ["from", "to"];
  const remedy = "Remove the range";
  const range = rangeOf(choices);
  if (!range) {
    const text = `${choices.from ?? "nothing"} to ${choices.to ?? "nothing"} is not a time range in nanoseconds`;
    return { text, keys, remedy };
  }
  const [first, last] = [outline.start_ns - outline.zero_ns, outline.end_ns - outline.zero_ns];
  if (range.to > first && range.from < last) return undefined;
  const time = (ns: number) => figureText("ns", Math.round(ns));
  const text = `The range ${time(range.from)} to ${time(range.to)} is outside this trace, which covers ${time(first)} to ${time(last)}`;
  return { text, keys, remedy };
}
