import { expect, test } from "vitest";
import { madeReport, madeTable } from "../report/made_table";
import type { Cell } from "../server/types";
import { parentsOf, parentsStatement, pathBefore, withParents } from "./module_parents";

const reportOf = (columns: string[], rows: Cell[][]) =>
  madeReport("modules", madeTable(columns, rows, { total: columns.map(() => "") }));

test("a module belongs to the one that calls it most often", () => {
  const answer = reportOf(
    ["name", "parent", "times"],
    [
      ["nn.Module: GELU_0", "nn.Module: Head_1", 1],
      ["nn.Module: GELU_0", "nn.Module: Head_0", 10],
    ],
  );
  expect(parentsOf(answer)).toEqual(new Map([["GELU_0", "Head_0"]]));
});

test.each([
  ["top(Net)::forward.fc(torch.nn.Linear)::forward", "top(Net)::forward"],
  ["top(Net)::forward", null],
  ["Linear_0", null],
  ["model/encoder.0/dense", "model/encoder.0"],
  ["jit(f)/transpose(jvp(a/b))", "jit(f)"],
])("%s is in %s", (name, parent) => expect(pathBefore(name)).toBe(parent));

test("rows get the parent as a column that is not shown", () => {
  const [table] = withParents(reportOf(["name"], [["GELU_0"], ["Head_0"]]), new Map([["GELU_0", "Head_0"]])).parts;
  if (table?.kind !== "table") throw new Error("no table");
  expect(table.columns[1]).toMatchObject({ name: "parent", look: "hidden" });
  expect(table.rows).toEqual([
    ["GELU_0", "Head_0"],
    ["Head_0", null],
  ]);
  expect(table.total).toHaveLength(2);
});

test("one recording is asked about if one is chosen", () => {
  expect(parentsStatement(3, 0)).toContain(`rank = 3 AND "window" = 0`);
  expect(parentsStatement(undefined, undefined)).not.toContain("rank = 3");
});
