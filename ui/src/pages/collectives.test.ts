import { written } from "../format/say";
import { expect, test } from "vitest";
import { madeReport, madeTable } from "../report/made_table";
import { collectivesReport, collectivesStatement, spanPlace } from "./collectives";

test("the selectors are in the statement", () => {
  const statement = collectivesStatement({ rank: 3, window: 0, steps: { first: 1, last: 2 }, range: { from: 5, to: 9 } }, 10);
  expect(statement).toContain("one.rank = 3");
  expect(statement).toContain(`"window" = 0 AND step BETWEEN 1 AND 2`);
  expect(statement).toContain("start_ns < 9 AND start_ns + time_ns > 5");
  expect(statement).toContain("LIMIT 10");
  expect(collectivesStatement({}, 10)).not.toContain("BETWEEN");
});

const answer = madeReport(
  "sql",
  madeTable(["collective", "step", "wait_ns", "last_rank", "of_all"], [["all_reduce", 0, 40, 6, 1500]]),
);

test("the report says how many there are, and calls steps by their names", () => {
  const [table] = collectivesReport(answer, (place) => `#${place + 7}`, true).parts;
  if (table?.kind !== "table") throw new Error("no table");
  expect(table.left_out).toBe(1499);
  expect(table.notes.map(written)).toEqual(["longest waits", "wait: sum over all ranks"]);
  const cell = (name: string) => table.rows[0]![table.columns.findIndex((column) => column.name === name)];
  expect([cell("collective"), cell("step"), cell("wait_ns"), cell("last_rank")]).toEqual(["all_reduce", "#7", 40, 6]);
});

test("waiting that is not known has a reason", () => {
  const reason = (hasRanks: boolean) =>
    collectivesReport(answer, String, hasRanks).missing.find((each) => each.path === "wait_ns")?.reason ?? [];
  expect(written(reason(false))).toBe("ranks do not match: only one rank available");
  expect(written(reason(true))).toMatch(/not all recorded the same/);
});

test("a collective is shown on its rank with a little around it", () => {
  expect(spanPlace(6, 99, 1_000_000, 20_000)).toEqual({
    rank: "6",
    window: undefined,
    sel: "99",
    view: "980000,1040000",
  });
  expect(spanPlace(6, 99, null, 5).view).toBeUndefined();
});
