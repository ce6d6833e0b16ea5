// Changes that a step is replayed with: what the server knows, what is chosen, and what comes of it.
import { figureText, numberOf } from "../format/number";
import { cellNamed, reasonOf, tableNamed } from "../report/table";
import type { Report } from "../server/types";

/** A change that can be made. */
export type Offer = {
  /** As the server is asked for it. */
  name: string;
  /** As the command is given it. */
  option: string;
  /** How its value is written; null if it is on or off. */
  value: string | null;
  about: string;
  /** How its saving relates to that of the real change, and why. */
  bound: string;
  because: string;
};

/** A change that is made, with its value if it has one. */
export type Change = { name: string; value: string };

/** What a change saves per step. */
export type Saving = {
  change: string;
  /** How much work it is about; null if it names none. */
  matched: number | null;
  step: number;
  saving: number | null;
  low: number | null;
  high: number | null;
  bound: string;
  confidence: string;
  /** Why the saving is not known. */
  reason: string;
};

export function offersOf(report: Report): Offer[] {
  const table = tableNamed(report, "rows");
  const text = (row: number, name: string) => String(cellNamed(table, row, name) ?? "");
  return (table?.rows ?? []).map((_, row) => {
    const [option = "", ...value] = text(row, "option").split(" ");
    return {
      name: text(row, "name"),
      option,
      value: value.join(" ") || null,
      about: text(row, "about"),
      bound: text(row, "bound"),
      because: text(row, "because"),
    };
  });
}

export function savingsOf(report: Report): Saving[] {
  const table = tableNamed(report, "rows");
  return (table?.rows ?? []).map((_, row) => {
    const number = (name: string) => numberOf(cellNamed(table, row, name));
    const text = (name: string) => String(cellNamed(table, row, name) ?? "");
    return {
      change: text("change"),
      matched: number("matched"),
      step: number("step_ns") ?? 0,
      saving: number("saving_ns"),
      low: number("low_ns"),
      high: number("high_ns"),
      bound: text("bound"),
      confidence: text("confidence"),
      reason: reasonOf(report, (path) => path === `rows[${row}].saving_ns`) ?? "not known",
    };
  });
}

/** What a change that needs no value saves alone, as the report of the path lists it; undefined if no saving is known. */
export function usualSaving(report: Report, offer: Offer): string | undefined {
  if (reasonOf(report, (path) => path === "changes") !== undefined) return undefined;
  const table = tableNamed(report, "changes");
  const row = (table?.rows ?? []).findIndex((_, row) => `--${cellNamed(table, row, "change")}` === offer.option);
  const saving = numberOf(cellNamed(table, row, "saving_ns"));
  // What saves next to nothing has no row.
  if (saving === null) return "< 0.1 %";
  const sign = { "at most": "≤ ", "at least": "≥ " }[offer.bound] ?? "";
  return sign + figureText("ns", Math.round(saving));
}

/** The changes of an address, which has them as the server is asked. */
export function parseChanges(text: string | undefined): Change[] {
  const found = new Map<string, Change>();
  for (const [name, value] of new URLSearchParams(text ?? "")) found.set(name, { name, value });
  return [...found.values()];
}

/** What the address and the server get; nothing if nothing is changed. */
export function writeChanges(changes: Change[]): string | undefined {
  const written = changes.map(({ name, value }) => (value === "" ? name : `${name}=${encodeURIComponent(value)}`));
  return written.join("&") || undefined;
}

/** The changes with one of them made, with another value, or not made if there is no value. */
export function withChange(changes: Change[], name: string, value: string | undefined): Change[] {
  const others = changes.filter((change) => change.name !== name);
  return value === undefined ? others : [...others, { name, value }];
}

/** Work that takes a part of its time: `kernel:*=1/2`. */
export type Scaled = { work: string; divisor: number };

export const EVERY_KERNEL = "kernel:*";

export function parseScaled(value: string | undefined): Scaled {
  const match = /^(.*)=1\/(\d+)$/s.exec(value ?? "");
  return match ? { work: match[1]!, divisor: Number(match[2]) } : { work: EVERY_KERNEL, divisor: 1 };
}

export function writeScaled({ work, divisor }: Scaled): string {
  return `${work}=1/${divisor}`;
}

/** The command that gives the same answer; `part` has the options that select the trace and its steps. */
export function commandLine(changes: Change[], offers: Offer[], part: [string, string][]): string {
  const options = offers.flatMap((offer) =>
    changes
      .filter((change) => change.name === offer.name)
      .map((change) => (offer.value === null ? offer.option : `${offer.option} ${quoted(change.value)}`)),
  );
  return ["stepscope whatif PATH", ...options, ...part.map(([option, value]) => `${option} ${quoted(value)}`)].join(" ");
}

/** One word of a shell, whatever it holds. */
function quoted(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
