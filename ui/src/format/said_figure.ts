// Figures inside sentences: four digits that count, and a unit. The terminal writes them in the same way: both are held
// to the cases of crates/report/tests/figures.json.
import type { Figure } from "../server/types";
import { count } from "./number";

/** The digits and the unit: `604.0 µs`, `98.59 ms`, `33.4 %`. */
export function saidFigure({ value, unit, rounding }: Figure): string {
  switch (unit) {
    case "ratio":
      if (rounding === "down") return atLeast(value);
      return rounding === "whole" ? `${fixed(100 * value, 0)} %` : ratio(value);
    case "gb_per_s":
      return rounding === "tenths" ? `${fixed(value, 1)} GB/s` : gbPerS(value);
    case "ns":
      return duration(value);
    case "bytes":
      return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
    case "moved_bytes":
      return scaled(value, 1000, ["B", "kB", "MB", "GB", "TB"]);
    case "flops":
      return flops(value, "FLOP");
    case "flops_per_s":
      return flops(value, "FLOP/s");
    case "plain":
    case "id":
      return unit === "plain" && rounding === "usual" ? count(Math.trunc(value)) : fixed(value, 0);
  }
}

function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size === 0) return "0 ms";
  if (size < 1e6) return `${significant(ns / 1e3)} µs`;
  if (size < 1e9) return `${significant(ns / 1e6)} ms`;
  if (size < 600e9) return `${significant(ns / 1e9)} s`;
  const seconds = Math.trunc(ns / 1e9) % 60;
  return `${count(Math.trunc(ns / 60e9))} min ${String(seconds).padStart(2, "0")} s`;
}

/** A share: one decimal, but never a nought for what is not nothing. */
function ratio(value: number): string {
  if (value === 0) return "0 %";
  return Math.abs(value) < 0.0005 ? "< 0.1 %" : `${value < 0 ? "−" : ""}${fixed(Math.abs(value) * 100, 1)} %`;
}

/** A share that is a lower bound: never rounded up. */
function atLeast(value: number): string {
  const tenths = Math.max(0, Math.floor(value * 1000));
  return tenths === 0 ? "0 %" : `${fixed(tenths / 10, 1)} %`;
}

function gbPerS(value: number): string {
  if (value < 0.01) return "less than 0.01 GB/s";
  return `${fixed(value, value < 9.995 ? 2 : 1)} GB/s`;
}

function flops(value: number, symbol: string): string {
  const units = ["", "k", "M", "G", "T", "P"];
  const place = Math.max(0, units.findLastIndex((_, place) => Math.abs(value) >= 1000 ** place));
  return `${significant(value / 1000 ** place)} ${units[place]}${symbol}`;
}

function scaled(value: number, step: number, units: string[]): string {
  let place = 0;
  while (Math.abs(value) >= step && place + 1 < units.length) {
    value /= step;
    place++;
  }
  return place === 0 ? `${count(Math.trunc(value))} B` : `${significant(value)} ${units[place]}`;
}

/** Four digits that count. */
function significant(value: number): string {
  const size = Math.abs(value);
  const decimals = size === 0 || size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  const [whole = "", fraction] = fixed(size, decimals).split(".");
  const digits = count(BigInt(whole)) + (fraction === undefined ? "" : `.${fraction}`);
  return value < 0 ? `−${digits}` : digits;
}

/** So many decimals; of two that are equally near, the even one, as the terminal has it. */
function fixed(value: number, decimals: number): string {
  const [whole = "", fraction = ""] = Math.abs(value).toFixed(20).split(".");
  const isBetween = /^50*$/.test(fraction.slice(decimals));
  if (!isBetween) return value.toFixed(decimals);
  const below = decimals === 0 ? whole : `${whole}.${fraction.slice(0, decimals)}`;
  const isEven = Number(below.at(-1)) % 2 === 0;
  const above = (Number(below) + 10 ** -decimals).toFixed(decimals);
  return `${value < 0 ? "-" : ""}${isEven ? below : above}`;
}
