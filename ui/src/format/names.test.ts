import { expect, test } from "vitest";
import { columnLabel, counted } from "./names";

test.each([
  [1, "steps", "1 step"],
  [2, "steps", "2 steps"],
  [1, "copies", "1 copy"],
  [1200, "rows", "1,200 rows"],
])("%s %s", (number, nouns, want) => expect(counted(number, nouns)).toBe(want));

test("columns of classes have the names of classes", () => {
  const column = { name: "cpu_exec_ns", label: null, unit: "ns", look: "value", class: null, from_width: 0 } as const;
  expect(columnLabel(column)).toBe("CPU execution");
  expect(columnLabel({ ...column, name: "dataloader_ns" })).toBe("DataLoader");
});
