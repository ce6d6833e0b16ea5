// How many values lie where, for more values than can be dots.

/** From here on dots would only hide each other. */
export const MOST_DOTS = 400;

export type DensityColumn = { from: number; to: number; steps: number; height: number };

/** Columns that hold something, from left to right; the fullest has the height 1, and none is too low to be seen. */
export function densityColumns(
  values: number[],
  bounds: { least: number; most: number },
  columns: number,
): DensityColumn[] {
  const wide = (bounds.most - bounds.least) / Math.max(1, columns);
  const counts = new Map<number, number>();
  for (const value of values) {
    const place = Math.min(columns - 1, Math.max(0, Math.floor((value - bounds.least) / wide)));
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const fullest = [...counts.values()].reduce((most, each) => Math.max(most, each), 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([place, steps]) => ({
      from: bounds.least + place * wide,
      to: bounds.least + (place + 1) * wide,
      steps,
      // A lone step among thousands stays visible: the root keeps it above a pixel.
      height: Math.max(0.05, Math.sqrt(steps / fullest)),
    }));
}
