// How numbers look: one unit a column, four digits for a figure that stands alone, `–` for what is not known.
import type { Cell, Unit } from "../server/types";

/** What stands for a value that is not known. */
export const NULL = "–";

/** From here on a number of nanoseconds is a point in time, not a duration: 10 days. */
const POINT_IN_TIME_NS = 10 * 86_400e9;

/** How all values of one column are written. */
export type Format =
  | { kind: "raw" }
  | { kind: "count" }
  | { kind: "decimal"; decimals: number }
  | { kind: "scaled"; unit: number; symbol: string; decimals: number; isFigure: boolean }
  | { kind: "minutes" }
  | { kind: "percent" };

/** A number and its unit apart, for where they look different. */
export type Shown = { digits: string; symbol: string };

/** The format of a column: chosen by its largest value. */
export function formatOf(unit: Unit, cells: Cell[]): Format {
  const values = cells.map(numberOf).filter((value) => value !== null);
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  switch (unit) {
    case "id":
      return { kind: "raw" };
    case "ratio":
      return { kind: "percent" };
    case "ns":
      return ofNanoseconds(largest, values);
    case "bytes":
      return byStep(largest, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
    case "moved_bytes":
      return byStep(largest, 1000, ["B", "kB", "MB", "GB", "TB"]);
    case "gb_per_s":
      return scaled(1, "GB/s", 1);
    case "flops":
      return ofFlops(largest, "FLOP");
    case "flops_per_s":
      return ofFlops(largest, "FLOP/s");
    case "plain": {
      if (values.every(Number.isInteger)) return { kind: "count" };
      const smallest = values.reduce(
        (least, value) => (value === 0 ? least : Math.min(least, Math.abs(value))),
        Infinity,
      );
      return smallest < 1e-3 || largest >= 1e15 ? { kind: "raw" } : { kind: "decimal", decimals: 3 };
    }
  }
}

/** The format where the header names the unit: `ms per step`. Undefined if it does not. */
export function formatOfHeader(unit: Unit, header: string): Format | undefined {
  const word = header.split(" ")[0] ?? "";
  const known: Partial<Record<Unit, Record<string, [number, number]>>> = {
    ns: { ns: [1, 0], µs: [1e3, 1], ms: [1e6, 2], s: [1e9, 3] },
    bytes: { B: [1, 0], KiB: [1024, 2], MiB: [1024 ** 2, 2], GiB: [1024 ** 3, 2] },
    moved_bytes: { B: [1, 0], kB: [1e3, 2], MB: [1e6, 2], GB: [1e9, 2] },
  };
  const found = known[unit]?.[word];
  return found && { ...scaled(found[0], "", found[1]), isFigure: true };
}

/** The same format with at most four digits that count, each value for itself; seconds from one second on. */
export function asFigure(format: Format, cells: Cell[]): Format {
  if (format.kind !== "scaled") return format;
  const largest = cells.reduce((most: number, cell) => Math.max(most, Math.abs(numberOf(cell) ?? 0)), 0);
  if (format.symbol === "ms" && largest >= 1e9) return { ...scaled(1e9, "s", 3), isFigure: true };
  return { ...format, isFigure: true };
}

/** The unit that the header of a column names. */
export function symbolOf(format: Format): string {
  return format.kind === "scaled" ? format.symbol : "";
}

/** One value without its unit, which the header names. Shares keep their sign. */
export function show(format: Format, cell: Cell): string {
  if (cell === null) return NULL;
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (typeof cell === "string") return cell;
  if (typeof cell === "object") return JSON.stringify(cell);
  if (typeof cell === "number" && !Number.isFinite(cell)) return NULL;
  switch (format.kind) {
    case "raw":
      return String(cell);
    case "count":
      return typeof cell === "bigint" || Number.isInteger(cell) ? grouped(BigInt(cell), 0) : String(cell);
    case "decimal":
      return grouped(scaleRounded(cell, 1, format.decimals), format.decimals);
    case "percent":
      return percent(Number(cell));
    case "minutes":
      return minutes(cell);
    case "scaled": {
      if (Number(cell) === 0) return "0";
      const decimals = format.isFigure ? figureDecimals(Number(cell) / format.unit, format.decimals) : format.decimals;
      const digits = scaleRounded(cell, format.unit, decimals);
      return digits === 0n ? `< ${grouped(1n, decimals)}` : grouped(digits, decimals);
    }
  }
}

/** A figure that stands alone: four digits, with its unit beside it. */
export function figure(unit: Unit, cell: Cell): Shown {
  const format = asFigure(formatOf(unit, [cell]), [cell]);
  const digits = show(format, cell);
  if (format.kind === "percent") return { digits: digits.replace(/ %$/, ""), symbol: digits === NULL ? "" : "%" };
  return { digits, symbol: cell === null ? "" : symbolOf(format) };
}

/** A figure as one text: `177.6 ms`. */
export function figureText(unit: Unit, cell: Cell): string {
  const { digits, symbol } = figure(unit, cell);
  return symbol === "" ? digits : `${digits} ${symbol}`;
}

/** Two times and what lies between: `31.20 to 36.40 ms`, the unit once if both have the same. */
export function rangeText(low: number, high: number): string {
  const [from, to] = [figure("ns", Math.round(low)), figure("ns", Math.round(high))];
  return `${from.digits}${from.symbol === to.symbol ? "" : ` ${from.symbol}`} to ${to.digits} ${to.symbol}`;
}

/** A duration with all digits that were recorded, for the details of a span. */
export function exactTime(ns: number): string {
  if (ns < 0) return `−${exactTime(-ns)}`;
  const [unit, symbol] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const decimals = Math.round(Math.log10(unit));
  const digits = grouped(scaleRounded(Math.round(ns), unit, decimals), decimals);
  return `${decimals > 0 ? digits.replace(/\.?0+$/, "") : digits} ${symbol}`;
}

/** A count in full: `75,718`. */
export function count(value: number | bigint): string {
  return grouped(BigInt(value), 0);
}

/** A count where there is little room: `20.4 M`. */
export function shortCount(value: number): string {
  if (value < 1e6) return count(value);
  return value < 1e9 ? `${(value / 1e6).toFixed(1)} M` : `${(value / 1e9).toFixed(1)} G`;
}

/** The number in a cell, for comparing; null if there is none. */
export function numberOf(cell: Cell): number | null {
  if (typeof cell === "bigint") return Number(cell);
  return typeof cell === "number" && Number.isFinite(cell) ? cell : null;
}

function scaled(unit: number, symbol: string, decimals: number): Extract<Format, { kind: "scaled" }> {
  return { kind: "scaled", unit, symbol, decimals, isFigure: false };
}

function ofNanoseconds(largest: number, values: number[]): Format {
  if (largest >= POINT_IN_TIME_NS) return scaled(1, "ns", 0);
  if (largest >= 600e9) return { kind: "minutes" };
  if (largest >= 10e9) return scaled(1e9, "s", 3);
  if (largest >= 1e6) return scaled(1e6, "ms", 2);
  // A clock of whole microseconds has no decimals of them.
  if (largest >= 1e3) return scaled(1e3, "µs", values.every((value) => value % 1000 === 0) ? 0 : 1);
  return scaled(1, "ns", 0);
}

function byStep(largest: number, base: number, symbols: string[]): Format {
  let step = 0;
  while (step + 1 < symbols.length && largest >= base ** (step + 1)) step++;
  return scaled(base ** step, symbols[step] ?? "", step === 0 ? 0 : 2);
}

function ofFlops(largest: number, symbol: string): Format {
  const steps: [number, string][] = [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
  ];
  const found = steps.find(([unit]) => largest >= unit);
  return found ? scaled(found[0], found[1] + symbol, 2) : scaled(1, symbol, 0);
}

/** Decimals that make at most four digits; what is below a tenth gets one more, so that it says something. */
function figureDecimals(value: number, decimals: number): number {
  const places = [10, 100, 1000].filter((limit) => Math.abs(value) >= limit).length;
  return Math.abs(value) < 0.1 && decimals > 0 ? decimals + 1 : Math.min(decimals, 3 - places);
}

/** The value in units of the last digit that is shown: half away from zero, from the integer where it is one. */
function scaleRounded(value: number | bigint, unit: number, decimals: number): bigint {
  if (typeof value === "number" && !Number.isInteger(value)) {
    const exact = (value * 10 ** decimals) / unit;
    return BigInt(Math.sign(exact) * Math.round(Math.abs(exact)));
  }
  const [wide, by] = [BigInt(value) * 10n ** BigInt(decimals), BigInt(unit)];
  return wide < 0n ? (wide - by / 2n) / by : (wide + by / 2n) / by;
}

function percent(ratio: number): string {
  if (ratio === 0) return "0 %";
  const tenths = scaleRounded(ratio * 1000, 1, 0);
  return tenths === 0n ? "< 0.1 %" : `${grouped(tenths, 1)} %`;
}

function minutes(ns: number | bigint): string {
  const seconds = scaleRounded(ns, 1e9, 0);
  const size = seconds < 0n ? -seconds : seconds;
  return `${seconds < 0n ? "−" : ""}${grouped(size / 60n, 0)} min ${String(size % 60n).padStart(2, "0")} s`;
}

/** Digits in groups of three; the last `decimals` of them behind the point. */
function grouped(value: bigint, decimals: number): string {
  const digits = String(value < 0n ? -value : value).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = value < 0n ? "−" : "";
  return decimals === 0 ? sign + whole : `${sign}${whole}.${digits.slice(digits.length - decimals)}`;
}
