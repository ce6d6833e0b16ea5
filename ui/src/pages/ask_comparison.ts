// Asks what differs between two runs, and what each of them is by itself.
import { tableNamed } from "../report/table";
import { analysis, difference, outline, type SourceKey } from "../server/questions";
import type { Report, Run, TablePart, TimelineOutline } from "../server/types";
import { recordingOf, type Compared } from "../state/compared";
import { addressOf } from "../state/steps";
import { stepsOf, type ComparedStep } from "./comparison";

export type Side = {
  run: Run;
  /** The recording that is compared; undefined if the run has none. */
  source: SourceKey | undefined;
  /** The time on its clock that is 0 on the server. */
  first: bigint | undefined;
  /** Steps that are compared. */
  steps: ComparedStep[];
  /** Complete steps that the recording has. */
  complete: number;
  summary: Report;
  /** Times of the steps that are compared. */
  stepTime: TablePart | undefined;
};

export type Comparison = { report: Report; a: Side; b: Side };

export async function askComparison(a: Run, b: Run, part: Compared): Promise<Comparison> {
  const report = difference(a.run, b.run, part);
  const [sideA, sideB] = await Promise.all([askSide(a, part, report, "A"), askSide(b, part, report, "B")]);
  return { report: await report, a: sideA, b: sideB };
}

async function askSide(run: Run, part: Compared, report: Promise<Report>, name: "A" | "B"): Promise<Side> {
  const taken = recordingOf(run, part);
  const scope = { rank: taken?.rank, window: taken?.window };
  const source = taken && { run: run.run, rank: taken.rank, window: taken.window, revision: run.revision };
  const first = taken && taken.first_ns !== null ? BigInt(taken.first_ns) : undefined;
  const whole = analysis(run.run, "summary", scope);
  const [steps, complete] = [stepsOf(await report, name), taken?.complete_steps ?? 0];
  // Of a long run only some steps are compared: their times are asked for alone.
  const isPart = source && first !== undefined && steps.length > 0 && steps.length < complete;
  const step = isPart ? stepNumbers(steps, first, await outline(source)) : undefined;
  const ofSteps = step === undefined ? whole : analysis(run.run, "summary", { ...scope, step });
  const [summary, stepTime] = [await whole, tableNamed(await ofSteps, "step_time")];
  return { run, source, first, steps, complete, summary, stepTime };
}

/** Steps as an analysis is asked about them, such as `64-95`; undefined if the timeline does not have them. */
export function stepNumbers(
  steps: ComparedStep[],
  first: bigint,
  { steps: known }: Pick<TimelineOutline, "steps">,
): string | undefined {
  const place = (step: ComparedStep) => known.findIndex(({ start_ns }) => start_ns === Number(step.start - first));
  const [from, to] = [place(steps[0]!), place(steps.at(-1)!)];
  return from < 0 || to < from ? undefined : addressOf(known, from, to);
}
