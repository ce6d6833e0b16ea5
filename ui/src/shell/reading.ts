// How far the reading of a run is, in words: bytes or files, the rate and the time left.
import { count, figureText } from "../format/number";
import type { RunReading } from "../server/types";

/** How far back the rate looks: long enough to be calm, short enough to follow a file that is packed tighter. */
const WINDOW_MS = 8000;
const LEAST_MS = 1000;

export type Sample = { at: number; bytes: number };

/** The samples that still count, with the newest; a run that is read again starts over. */
export function withSample(samples: Sample[], sample: Sample): Sample[] {
  const last = samples.at(-1);
  if (last && sample.bytes < last.bytes) return [sample];
  return [...samples.filter((each) => sample.at - each.at <= WINDOW_MS), sample];
}

/** Bytes per second over the samples; undefined while it cannot be known. */
export function rateOf(samples: Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < LEAST_MS || last.bytes <= first.bytes) return undefined;
  return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
}

/** What stands below the bar: what is done, how fast, how long it takes, and which file is read. */
export function readingWords(
  reading: RunReading | null,
  rate: number | undefined,
): { done: string; left: string; file: string } {
  if (!reading || reading.total_bytes === 0) return { done: "looking for traces", left: "", file: "" };
  const parts = [
    `${figureText("moved_bytes", reading.done_bytes)} of ${figureText("moved_bytes", reading.total_bytes)}`,
  ];
  if (reading.total_files > 1)
    parts.unshift(`${count(reading.done_files)} of ${count(reading.total_files)} files`);
  const rest = reading.total_bytes - reading.done_bytes;
  const speed = rate === undefined ? [] : [`${figureText("moved_bytes", Math.round(rate))}/s`];
  const time = rest <= 0 ? ["building tables"] : rate === undefined ? [] : [`about ${timeLeft(rest / rate)} left`];
  return { done: parts.join(" · "), left: [...speed, ...time].join(" · "), file: reading.file ?? "" };
}

function timeLeft(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  return whole < 100 ? `${whole} s` : `${Math.ceil(whole / 60)} min`;
}
