// Rows and colors of a heat map of ranks. Up to 64 ranks have a row each; above, rows of a few pixels show the worst of
// the ranks they stand for, sorted by the waiting they cause, and the ten worst stand on top by name.

/** What a cell of one rank is about: a step by its place, or a collective and when it ran there. */
export type HeatPlace = { step: number } | { spanId: number; start: number | null; dur: number };
export type HeatCell = { rank: number; column: number; wait: number; isLast: boolean; at?: HeatPlace };
export type Heat = { columns: string[]; cells: HeatCell[]; ranks: number[] };
export type HeatRow = { label: string; ranks: number[]; height: number };

const NAMED_ROWS = 64;
const WORST_ROWS = 10;
const MOST_HEIGHT_PX = 400;
/** The color scale ends where all but so many cells lie; what is more is said to be "and more". */
const CAP = 0.98;

export function heatCap(heat: Heat): number {
  const waits = heat.cells
    .map((cell) => cell.wait)
    .filter((wait) => wait > 0)
    .sort((a, b) => a - b);
  return waits[Math.floor((waits.length - 1) * CAP)] ?? 1;
}

/** The rows from top to bottom. `caused` says how long others wait for a rank. */
export function heatRows(ranks: number[], caused: (rank: number) => number): HeatRow[] {
  if (ranks.length <= NAMED_ROWS)
    return ranks.map((rank) => ({
      label: `rank ${rank}`,
      ranks: [rank],
      height: Math.max(6, Math.min(26, Math.floor(MOST_HEIGHT_PX / ranks.length))),
    }));
  const sorted = [...ranks].sort((a, b) => caused(b) - caused(a) || a - b);
  const worst = sorted.slice(0, WORST_ROWS).map((rank) => ({ label: `rank ${rank}`, ranks: [rank], height: 14 }));
  const rest = sorted.slice(WORST_ROWS);
  const rows = Math.floor((MOST_HEIGHT_PX - WORST_ROWS * 14) / 2);
  const size = Math.max(1, Math.ceil(rest.length / rows));
  return [
    ...worst,
    ...Array.from({ length: Math.ceil(rest.length / size) }, (_, place) => ({
      label: "",
      ranks: rest.slice(place * size, (place + 1) * size),
      height: 2,
    })),
  ];
}

/** A color on the scale of seven stops. */
export function heatColor(stops: string[], share: number): string {
  const place = Math.min(stops.length - 1.0001, Math.max(0, share * (stops.length - 1)));
  const low = Math.floor(place);
  const parts = [1, 3, 5].map((at) => {
    const [from, to] = [stops[low]!, stops[low + 1]!].map((stop) => Number.parseInt(stop.slice(at, at + 2), 16)) as [
      number,
      number,
    ];
    return Math.round(from + (to - from) * (place - low));
  });
  return `rgb(${parts.join(" ")})`;
}
