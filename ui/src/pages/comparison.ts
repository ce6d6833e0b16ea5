// What differs between two recordings, and whether the difference is more than noise.
import { CLASSES, classLabel } from "../format/names";
import { figureText, numberOf } from "../format/number";
import type { Report, TablePart } from "../server/types";
import { cellNamed, tableNamed } from "../report/table";

export type Side = { summary: Report; steps: Report; operators: Report; kernels: Report };

export type Verdict = { word: "beyond noise" | "within noise" | "inconclusive"; p: number | null };

/** Up to here the distribution of U is counted, above it is approximated. */
const EXACT_PAIRS = 400;
const SIGNIFICANT = 0.05;

/** Mann–Whitney on step times: is one of them usually longer? Too few steps can never say so. */
export function verdictOf(a: number[], b: number[]): Verdict {
  if (a.length === 0 || b.length === 0) return { word: "inconclusive", p: null };
  const p = mannWhitney(a, b);
  const smallest = 2 / choose(a.length + b.length, Math.min(a.length, b.length));
  if (smallest > SIGNIFICANT) return { word: "inconclusive", p };
  return { word: p < SIGNIFICANT ? "beyond noise" : "within noise", p };
}

/** The two-sided probability that samples of one kind differ at least as much. */
export function mannWhitney(a: number[], b: number[]): number {
  const [n, m] = [a.length, b.length];
  const ranked = [...a.map((value) => ({ value, isA: true })), ...b.map((value) => ({ value, isA: false }))].sort(
    (x, y) => x.value - y.value,
  );
  let [rankSum, ties] = [0, 0];
  for (let from = 0; from < ranked.length;) {
    let to = from;
    while (to < ranked.length && ranked[to]!.value === ranked[from]!.value) to++;
    const size = to - from;
    ties += size ** 3 - size;
    rankSum += ranked.slice(from, to).filter((each) => each.isA).length * ((from + 1 + to) / 2);
    from = to;
  }
  const u = rankSum - (n * (n + 1)) / 2;
  const smaller = Math.min(u, n * m - u);
  if (ties === 0 && n * m <= EXACT_PAIRS) return Math.min(1, 2 * shareUpTo(smaller, n, m));
  const total = n + m;
  const deviation = Math.sqrt(((n * m) / 12) * (total + 1 - ties / (total * (total - 1))));
  if (deviation === 0) return 1;
  return Math.min(1, 2 * normalTail((Math.abs(smaller - (n * m) / 2) - 0.5) / deviation));
}

/** The share of all orders of n and m samples whose U is at most this. */
function shareUpTo(u: number, n: number, m: number): number {
  // ways[i][j] counts orders with U = j among i samples of A and all of B seen so far.
  let ways = Array.from({ length: n + 1 }, (_, i) => (i === 0 ? [1] : []));
  for (let i = 1; i <= n; i++) ways[i] = [1];
  for (let k = 1; k <= m; k++) {
    const next: number[][] = [[1]];
    for (let i = 1; i <= n; i++) {
      const row: number[] = [];
      ways[i]!.forEach((count, at) => (row[at + i] = (row[at + i] ?? 0) + count));
      next[i - 1]!.forEach((count, at) => (row[at] = (row[at] ?? 0) + count));
      next[i] = Array.from(row, (count) => count ?? 0);
    }
    ways = next;
  }
  const all = choose(n + m, n);
  return ways[n]!.slice(0, Math.floor(u) + 1).reduce((sum, count) => sum + (count ?? 0), 0) / all;
}

function choose(n: number, k: number): number {
  let product = 1;
  for (let i = 1; i <= k; i++) product = (product * (n - k + i)) / i;
  return Math.round(product);
}

function normalTail(z: number): number {
  // Abramowitz and Stegun 26.2.17.
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = poly * Math.exp((-z * z) / 2) * 0.3989422804014327;
  return z >= 0 ? tail : 1 - tail;
}

export function stepTimes(steps: Report): { name: string; dur: number }[] {
  const table = tableNamed(steps, "rows");
  return (table?.rows ?? [])
    .map((_, row) => ({
      name: String(cellNamed(table, row, "name") ?? row),
      dur: numberOf(cellNamed(table, row, "dur_ns")) ?? 0,
      isComplete: cellNamed(table, row, "is_complete") !== false,
    }))
    .filter((step) => step.isComplete);
}

/** Mean time of each class in a step, in stacking order. */
export function classMeans(summary: Report): number[] {
  const table = tableNamed(summary, "breakdown");
  return CLASSES.map((name) => {
    const row = table?.rows.findIndex((_, at) => cellNamed(table, at, "class") === name) ?? -1;
    return row < 0 ? 0 : (numberOf(cellNamed(table, row, "mean_ns")) ?? 0);
  });
}

/**
 * The difference in one sentence: how much, and the two classes that change most. Only a difference beyond noise makes
 * one of them faster.
 */
export function differenceInWords(a: number[], b: number[], verdict: Verdict["word"]): string {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const [before, after] = [sum(a), sum(b)];
  if (before === 0 || after === 0) return "One run has no complete step. Call prof.step() after each iteration.";
  const change = after - before;
  const size = (by: number) => figureText("ns", Math.round(Math.abs(by)));
  const percent = figureText("ratio", Math.abs(change) / before);
  const largest = CLASSES.map((name, place) => ({ name, by: b[place]! - a[place]! }))
    .filter((each) => Math.abs(each.by) > before * 0.005)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by))
    .slice(0, 2)
    .map((each) => `${classLabel(each.name)} ${each.by < 0 ? "falls" : "grows"} by ${size(each.by)}`);
  if (Math.abs(change) < before * 0.001) return "A and B take the same time per step.";
  const [word, sign] = change < 0 ? ["faster", "−"] : ["slower", "+"];
  const by = `${size(change)} per step (${sign}${percent})`;
  if (verdict === "within noise") return `A and B differ by ${by}, within noise.`;
  if (verdict === "inconclusive") return `A and B differ by ${by}. Too few steps to separate this from noise.`;
  const head = `B is ${size(change)} per step ${word} (${sign}${percent})`;
  return largest.length === 0 ? `${head}.` : `${head}: ${largest.join(", ")}.`;
}

export type Changed = { name: string; countA: number; countB: number; a: number; b: number };

/** Rows of both tables by name, a step, the largest change first. */
export function changes(
  a: TablePart | undefined,
  b: TablePart | undefined,
  value: string,
  counted: string,
  stepsA: number,
  stepsB: number,
): Changed[] {
  const found = new Map<string, Changed>();
  const add = (table: TablePart | undefined, isA: boolean) => {
    for (let row = 0; row < (table?.rows.length ?? 0); row++) {
      const name = String(cellNamed(table, row, "name"));
      const entry = found.get(name) ?? { name, countA: 0, countB: 0, a: 0, b: 0 };
      entry[isA ? "a" : "b"] += (numberOf(cellNamed(table, row, value)) ?? 0) / Math.max(1, isA ? stepsA : stepsB);
      entry[isA ? "countA" : "countB"] += numberOf(cellNamed(table, row, counted)) ?? 0;
      found.set(name, entry);
    }
  };
  add(a, true);
  add(b, false);
  return [...found.values()].sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
}
