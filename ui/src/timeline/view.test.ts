import { expect, test } from "vitest";
import { clamp, parseView, rulerFormat, typicalStep, writeView, zoomAbout } from "./view";

const bounds = { from: 0, to: 1000_000 };

test("zooming keeps the time under the cursor", () => {
  const view = zoomAbout({ from: 100_000, to: 300_000 }, 150_000, 2, bounds);
  expect(view).toEqual({ from: 125_000, to: 225_000 });
});

test("a view stays in the recording and its margin", () => {
  expect(clamp({ from: -500_000, to: 5_000_000 }, bounds)).toEqual({ from: -20_000, to: 1_020_000 });
  expect(clamp({ from: 1_500_000, to: 1_600_000 }, bounds)).toEqual({ from: 920_000, to: 1_020_000 });
  expect(clamp({ from: 10, to: 11 }, bounds)).toEqual({ from: 10, to: 110 });
});

test("the step to open on is of median length", () => {
  const steps = [5, 9, 7].map((length) => ({ from: 0, to: length }));
  expect(typicalStep(steps)).toBe(steps[2]);
  expect(typicalStep([])).toBeUndefined();
});

test("a view survives the address", () => {
  expect(parseView(writeView({ from: -12.4, to: 999 }))).toEqual({ from: -12, to: 999 });
  expect(parseView("9,1")).toBeUndefined();
  expect(parseView("a,b")).toBeUndefined();
});

test("rulers write one unit with the decimals they need", () => {
  const first = (from: number, to: number) => {
    const { step, text } = rulerFormat({ from, to }, 10);
    return text(Math.ceil(from / step) * step);
  };
  expect(first(345.5e6, 548.5e6)).toBe("360 ms");
  expect(first(423.85e6, 430.35e6)).toBe("424.0 ms");
  expect(first(426.1e6, 426.2e6)).toBe("426.10 ms");
  expect(first(0, 90_000)).toBe("0 µs");
  expect(first(-5e3, 5e3)).toBe("−5 µs");
});
