import { expect, test } from "vitest";
import { stepNumbers } from "./ask_comparison";

test("compared steps are found on the timeline by their start", () => {
  const step = (start: bigint) => ({ name: "", start, dur: 10 });
  const known = (number: number, start_ns: number) => ({ step: 0, number, name: "", start_ns, end_ns: start_ns + 10, complete: true });
  const steps = [known(62, 5), known(63, 15), known(64, 25)];
  const first = 1767225601000000000n;
  expect(stepNumbers([step(first + 15n), step(first + 25n)], first, { steps })).toBe("63-64");
  expect(stepNumbers([step(first + 25n)], first, { steps })).toBe("64");
  expect(stepNumbers([step(first + 26n)], first, { steps })).toBeUndefined();
});
