// From a row of a critical path to its longest piece in the timeline.
import { numberOf } from "../format/number";
import { longestPiece, type Parameters, type PathRow } from "../server/questions";
import type { Cell, TablePart, WorstInstance } from "../server/types";
import { tell } from "../shell/Toast";
import { goTo } from "../state/route";
import { run, source, timelineOutline } from "../state/session";
import { PATH_SHOWN } from "../timeline/path";
import { choicesFor } from "./show_worst";

/** What a row of a table is about: a piece that it names, or all pieces of its class, operator or kernel. */
export function rowSubject(table: TablePart, row: Cell[]): PathRow | { spanId: number; start: Cell; dur: number } {
  const cell = (name: string) => row[table.columns.findIndex((column) => column.name === name)] ?? null;
  const [spanId, dur] = [numberOf(cell("span_id")), numberOf(cell("dur_ns"))];
  if (spanId !== null && dur !== null) return { spanId, start: cell("start_ns"), dur };
  if (table.name === "classes") return { class: String(cell("class")) };
  const name = String(cell("name") ?? "");
  if (table.name === "kernels") return { kernel: name };
  const className = cell("class");
  return className === null ? { operator: name } : { class: String(className), name };
}

export async function showPiece(table: TablePart, row: Cell[], parameters: Parameters): Promise<void> {
  const [job, outline, own] = [run(), timelineOutline(), source()];
  if (!job || !outline || !own) return;
  const subject = rowSubject(table, row);
  try {
    const piece: WorstInstance =
      "spanId" in subject
        ? {
            rank: own.rank,
            window: own.window,
            span_id: subject.spanId,
            start_ns: Number(BigInt(subject.start as bigint | number) - BigInt(own.first_ns ?? 0)),
            dur_ns: subject.dur,
          }
        : await longestPiece(job.run, subject, parameters);
    goTo("timeline", { ...choicesFor(piece, outline), path: PATH_SHOWN });
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  }
}
