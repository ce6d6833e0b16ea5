import { expect, test } from "vitest";
import cases from "../../../crates/report/tests/figures.json";
import type { Rounding, Unit } from "../server/types";
import { saidFigure } from "./said_figure";

// The test of the terminal reads the same cases.
test.each(cases as [Unit, Rounding, number, string][])("%s, %s: %d is %s", (unit, rounding, value, want) => {
  expect(saidFigure({ value, unit, rounding })).toBe(want);
});
