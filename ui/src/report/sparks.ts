// A few bars beside a figure: every value, or the largest of several where there are more than bars.
import { count } from "../format/number";

const MOST_BARS = 24;

/** The bars from first to last, and what each of them is if it is not one value. */
export function sparkBars(values: number[]): { values: number[]; note?: string } {
  const size = Math.ceil(values.length / MOST_BARS);
  if (size <= 1) return { values };
  const bars = Array.from({ length: Math.ceil(values.length / size) }, (_, place) =>
    Math.max(...values.slice(place * size, (place + 1) * size)),
  );
  return { values: bars, note: `each bar is the longest of ${count(size)}` };
}
