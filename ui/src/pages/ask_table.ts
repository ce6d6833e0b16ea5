// The question behind a table: an analysis, or what the page makes of SQL where no analysis has such rows.
import { stepMark } from "../format/names";
import { tables } from "../report/table";
import { analysis, sql, type Parameters } from "../server/questions";
import type { Report } from "../server/types";
import { choice } from "../state/route";
import { chosenRange, chosenSteps, ranks, source, timelineOutline } from "../state/session";
import { collectivesReport, collectivesStatement, MOST_COLLECTIVES } from "./collectives";
import { parentsOf, parentsStatement, withParents } from "./module_parents";

/** What the address has for the rows of a tree without their nesting; the analysis knows nothing of it. */
const FLAT = "flat";
/** What the address has for one row per collective, which the page asks for itself. */
export const SINGLE = "collective";

export type TableQuestion = { run: string; name: string; parameters: Parameters };

/** What the analysis groups by. */
export const grouping = (): string | undefined => (choice("group") === FLAT ? undefined : choice("group"));

export function askTable(asked: TableQuestion, signal: AbortSignal): Promise<Report> {
  if (asked.parameters.group === SINGLE) return askCollectives(asked.run, signal);
  return asked.name === "modules" ? askModules(asked, signal) : analysis(asked.run, asked.name, asked.parameters);
}

export function hasRows(report: Report): boolean {
  return tables(report).some((table) => table.rows.length > 0);
}

/** Modules with the one around each, for their tree. */
async function askModules({ run, name, parameters }: TableQuestion, signal: AbortSignal): Promise<Report> {
  const report = await analysis(run, name, parameters);
  if (parameters.group !== undefined || !hasRows(report)) return report;
  const { rank, window } = parameters;
  const statement = parentsStatement(rank as number | undefined, window as number | undefined);
  return withParents(report, parentsOf(await sql(run, statement, 20_000, signal)));
}

/** Single collectives of what the selectors choose. */
async function askCollectives(name: string, signal: AbortSignal): Promise<Report> {
  const isAll = choice("rank") === undefined;
  const statement = collectivesStatement(
    {
      rank: isAll ? undefined : source()?.rank,
      window: isAll ? undefined : source()?.window,
      steps: chosenSteps(),
      range: chosenRange(),
    },
    MOST_COLLECTIVES,
  );
  const steps = timelineOutline()?.steps ?? [];
  const answer = await sql(name, statement, MOST_COLLECTIVES, signal);
  const report = collectivesReport(answer, (place) => stepMark(steps[place]?.name ?? `#${place}`), ranks().length > 1);
  return { ...report, name: "comms" };
}
