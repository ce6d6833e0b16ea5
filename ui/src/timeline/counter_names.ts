// What the readings of a recorder are called: their names carry the unit, as in `disk_read_bytes_per_s`.
import { sentenceCase } from "../format/names";
import { figureText } from "../format/number";
import type { Unit } from "../server/types";

const rounded = (value: number): string => value.toLocaleString("en", { maximumSignificantDigits: 4 });

/** Longer endings first. */
const UNITS: [ending: string, text: (value: number) => string][] = [
  ["_bytes_per_s", (value) => `${figureText("bytes", value)}/s`],
  ["_bytes", (value) => figureText("bytes", value)],
  ["_percent", (value) => `${rounded(value)} %`],
  ["_celsius", (value) => `${rounded(value)} °C`],
  ["_watts", (value) => `${rounded(value)} W`],
  ["_joules", (value) => `${rounded(value)} J`],
  ["_seconds", (value) => `${rounded(value)} s`],
];
const ABBREVIATIONS = new Set(["cpu", "gpu", "io", "rss"]);

/** `gpu0_power_watts` → `GPU 0 power` and `250.5 W`; other names stay as they are. */
export function counterWords(name: string, unit: Unit, most: number): { title: string; axis: string } {
  const [ending, text] = UNITS.find(([ending]) => name.endsWith(ending)) ?? [];
  if (ending === undefined || text === undefined || !/^[a-z0-9_]+$/.test(name)) {
    return { title: sentenceCase(name), axis: figureText(unit, most) };
  }
  const words = name.slice(0, -ending.length).replace(/^gpu(\d+)/, "gpu_$1").split("_");
  const title = words.map((word) => (ABBREVIATIONS.has(word) ? word.toUpperCase() : word)).join(" ");
  return { title: sentenceCase(title), axis: text(most) };
}
