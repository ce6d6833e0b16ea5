// Ranges that stay marked, as the address holds them: `from:to,from:to` in nanoseconds from the first step.
import type { Range } from "./view";

export function parseMarks(text: string | undefined): Range[] {
  return (text ?? "").split(",").flatMap((part) => {
    const match = /^(-?\d+):(-?\d+)$/.exec(part);
    const range = match && { from: Number(match[1]), to: Number(match[2]) };
    return range && range.to > range.from ? [range] : [];
  });
}

export function writeMarks(marks: Range[]): string {
  return marks.map(({ from, to }) => `${Math.round(from)}:${Math.round(to)}`).join(",");
}

/** The marks with a range, or without it if it is one of them. */
export function toggled(marks: Range[], range: Range): Range[] {
  const wanted = writeMarks([range]);
  const others = marks.filter((mark) => writeMarks([mark]) !== wanted);
  return others.length < marks.length ? others : [...marks, range];
}
