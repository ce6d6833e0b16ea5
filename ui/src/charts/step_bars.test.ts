import { describe, expect, test } from "vitest";
import { barNote, chartUnit, stepBars, type ChartStep } from "./step_bars";

const step = (number: number, dur: number): ChartStep => ({
  step: number,
  name: `ProfilerStep#${number}`,
  dur,
  shares: [dur / 2, dur / 2],
  isComplete: true,
});

describe("bars of steps", () => {
  test("are one step each where they fit, and say nothing", () => {
    const bars = stepBars([step(0, 10), step(1, 30)], 10);
    expect(bars.map((bar) => [bar.size, bar.dur])).toEqual([
      [1, 10],
      [1, 30],
    ]);
    expect(barNote(bars)).toBeUndefined();
  });
  test("of several steps keep the least, the median and the most, and say so", () => {
    const steps = Array.from({ length: 10_000 }, (_, place) => step(place, place % 40 === 39 ? 1000 : 600));
    const bars = stepBars(steps, 250);
    expect(bars).toHaveLength(250);
    expect(bars[0]).toMatchObject({ size: 40, dur: 610, least: 600, median: 600, most: 1000 });
    expect(bars.reduce((sum, bar) => sum + bar.size, 0)).toBe(10_000);
    expect(barNote(bars)).toBe("each bar is the mean of 40 steps; the line shows min to max");
  });
  test("have a unit that keeps labels short", () => {
    expect([999_999, 1_000_000, 9_999_999_999, 60e9].map(chartUnit)).toEqual(["µs", "ms", "ms", "s"]);
  });
});
