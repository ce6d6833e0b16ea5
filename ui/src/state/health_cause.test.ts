import { expect, test } from "vitest";
import { written } from "../format/say";
import { healthCause, type HealthFigure } from "./health_cause";

const figures = (values: Record<string, number>): HealthFigure[] =>
  Object.entries(values).map(([name, value]) => ({ name, value, reason: null, meaning: "" }));

test("a file that was cut comes before all else", () => {
  const cause = healthCause(
    figures({ lost_events: 1, "lost.cut_event": 1, device_time_ns: 100, device_time_with_operator_ns: 10 }),
    "poor",
  );
  expect(cause.short).toBe("file cut off");
  expect(written(cause.sentence)).toBe("The file ends early: 1 event is lost. Metrics cover what was read.");
});

test("device time without an operator names the launches that are missing", () => {
  const cause = healthCause(
    figures({
      device_time_ns: 1000,
      device_time_with_operator_ns: 450,
      unlinked_device_events: 1234,
      device_events: 2000,
    }),
    "poor",
  );
  expect(cause.short).toBe("55.0 % without operator");
  expect(written(cause.sentence)).toBe(
    "Only 45.0 % of device time belongs to an operator: 1,234 of 2,000 device events have no recorded launch.",
  );
});

test("lost events, gaps, and nothing wrong", () => {
  expect(written(healthCause(figures({ lost_events: 12 }), "partial").sentence)).toMatch(/^12 events could not be read/);
  expect(written(healthCause([], "partial").sentence)).toBe("Part of the job was not recorded.");
  const good = figures({ device_time_ns: 10, device_time_with_operator_ns: 10, incomplete_steps: 1 });
  expect(written(healthCause(good, "good").sentence)).toBe(
    "No event is lost and 100.0 % of device time belongs to an operator. Averages exclude 1 incomplete step.",
  );
});
