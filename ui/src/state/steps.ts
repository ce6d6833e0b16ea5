// Steps by number, as addresses and the server have them, and by place in the recording, as charts draw them.
import type { Step } from "../server/types";

type Numbered = Pick<Step, "number">;

/** The places of the steps whose numbers lie between two, both included. */
export function placesOf(steps: Numbered[], first: number, last: number): { first: number; last: number } | undefined {
  const from = steps.findIndex((step) => step.number >= first);
  const to = steps.findLastIndex((step) => step.number <= last);
  return from >= 0 && to >= from ? { first: from, last: to } : undefined;
}

/** Steps from one place to another as the address has them: `16` or `16-18`. */
export function addressOf(steps: Numbered[], first: number, last: number): string {
  const number = (place: number) => steps[place]?.number ?? place;
  return first === last ? String(number(first)) : `${number(first)}-${number(last)}`;
}
