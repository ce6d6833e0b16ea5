// Which module calls which: the tree that the flat rows of `modules` are made into.
import { tables } from "../report/table";
import type { Cell, Column, Report } from "../server/types";

const FRAME = "nn.Module: ";

/** Pairs of modules and the nearest module around them, with how often. */
export function parentsStatement(rank: number | undefined, window: number | undefined): string {
  const only = [rank === undefined ? "" : ` AND rank = ${rank}`, window === undefined ? "" : ` AND "window" = ${window}`];
  const modules = `FROM spans WHERE kind = 'py' AND python_module_id IS NOT NULL${only.join("")}`;
  return `
SELECT inner_module.name AS name, outer_module.name AS parent, count(*) AS times
FROM (SELECT rank, "window", module_id, name ${modules}) AS inner_module
JOIN (SELECT rank, "window", span_id, name ${modules}) AS outer_module
  ON outer_module.rank = inner_module.rank AND outer_module."window" = inner_module."window"
    AND outer_module.span_id = inner_module.module_id
WHERE inner_module.name <> outer_module.name
GROUP BY ALL ORDER BY times, parent DESC`;
}

/** The module that each is called by most often. */
export function parentsOf(answer: Report): Map<string, string> {
  const table = tables(answer)[0];
  const place = (name: string) => table?.columns.findIndex((column) => column.name === name) ?? -1;
  const [name, parent] = [place("name"), place("parent")];
  const module = (cell: Cell | undefined) => String(cell ?? "").replace(FRAME, "");
  // Rows come from the rarest, so that the last of a module stays.
  return new Map((table?.rows ?? []).map((row) => [module(row[name]), module(row[parent])]));
}

/**
 * `top(Net)::forward.fc(Linear)::forward` is in `top(Net)::forward`, and the name scope `model/dense` in `model`; a name
 * without a path is in nothing.
 */
export function pathBefore(name: string): string | null {
  const [slash, dot] = [cutAt(name, "/"), cutAt(name, ".")];
  const cut = slash < 0 ? dot : slash;
  return cut < 0 ? null : name.slice(0, cut);
}

/** The last place of a character outside parentheses; -1 if there is none. */
function cutAt(name: string, separator: string): number {
  let [depth, cut] = [0, -1];
  for (let place = 0; place < name.length; place++) {
    if (name[place] === "(") depth++;
    else if (name[place] === ")") depth = Math.max(0, depth - 1);
    else if (name[place] === separator && depth === 0) cut = place;
  }
  return cut;
}

/** The report with a column `parent` in its rows, which is not shown. */
export function withParents(report: Report, parents: Map<string, string>): Report {
  const column: Column = { name: "parent", label: null, unit: "plain", look: "hidden", class: null, from_width: 0 };
  return {
    ...report,
    parts: report.parts.map((part) =>
      part.kind !== "table" || part.name !== "rows"
        ? part
        : {
            ...part,
            columns: [...part.columns, column],
            rows: part.rows.map((row) => {
              const name = String(row[0] ?? "");
              return [...row, parents.get(name) ?? pathBefore(name)];
            }),
            total: part.total && [...part.total, ""],
          },
    ),
  };
}
