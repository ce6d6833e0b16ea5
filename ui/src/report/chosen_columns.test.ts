import { expect, test } from "vitest";
import { parseColumns, writeColumns } from "./chosen_columns";

test("chosen columns are read and written back", () => {
  expect(parseColumns("calls,-host_total_ns")).toEqual({ calls: true, host_total_ns: false });
  expect(writeColumns({ calls: true, host_total_ns: false })).toBe("calls,-host_total_ns");
  expect(writeColumns(parseColumns(undefined))).toBeUndefined();
  expect(parseColumns(",-,")).toEqual({});
});
