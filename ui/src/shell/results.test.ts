import { expect, test } from "vitest";
import { moved, resultGroups, stillHolding } from "./results";

const found = {
  pages: [
    { page: "memory" as const, label: "Memory" },
    { page: "kernels" as const, label: "Kernels" },
  ],
  findings: [{ rule: "memory_pressure", title: "GPU memory is 96 % full at the peak" }],
  names: [
    {
      group: "operators",
      count: 317,
      names: [
        { name: "aten::memory_copy", count: 12, total_ns: 5_000_000, longest_span_id: 7 },
        { name: "memory", count: 1, total_ns: 10, longest_span_id: 8 },
      ],
    },
    {
      group: "frames",
      count: 1,
      names: [{ name: "/srv/me/memory.py(3): peak", count: 2, total_ns: 100, longest_span_id: 44 }],
    },
  ],
};

test("results come in groups with the number of all, and say how many more there are", () => {
  const groups = resultGroups("Memory", found);
  expect(groups.map((group) => [group.label, group.count])).toEqual([
    ["Events", 1],
    ["Pages", 1],
    ["Findings", 1],
    ["Operators", 317],
    ["Python frames", 1],
  ]);
  const operators = groups[3]!.results;
  expect(operators.map((result) => result.label)).toEqual(["aten::memory_copy", "memory", "and 315 more"]);
  expect(operators[0]!.note).toBe("5.00 ms · 12 ×");
  expect(operators[2]!.destination).toEqual({ page: "operators", changes: { q: "Memory" } });
});

test("a result leads to its row, or to its longest event", () => {
  const groups = resultGroups("memory", found);
  expect(groups[3]!.results[0]!.destination).toEqual({ page: "operators", changes: { sel: "aten::memory_copy" } });
  const frame = groups[4]!.results[0]!;
  expect(frame.label).toBe("memory.py(3): peak");
  expect(frame.whole).toBe("/srv/me/memory.py(3): peak");
  expect(frame.destination).toEqual({
    page: "timeline",
    changes: { q: "/srv/me/memory.py(3): peak", sel: "44" },
  });
  expect(groups[2]!.results[0]!.destination).toEqual({ finding: "memory_pressure" });
});

test("what nothing holds can still be looked for in the timeline", () => {
  expect(resultGroups("xyz", { pages: [], findings: [], names: [] }).map((group) => group.key)).toEqual(["events"]);
});

test("while the next answer is on its way, only names that hold the new text stay", () => {
  expect(stillHolding(found.names, "mem", "mem")).toBe(found.names);
  const [operators, frames] = stillHolding(found.names, "mem", "memory_C");
  expect([operators!.count, operators!.names.map((name) => name.name)]).toEqual([1, ["aten::memory_copy"]]);
  expect(frames!.count).toBe(0);
});

test("arrow keys go round", () => {
  expect(moved(undefined, 1, 3)).toBe(0);
  expect(moved(undefined, -1, 3)).toBe(2);
  expect(moved(2, 1, 3)).toBe(0);
  expect(moved(0, -1, 3)).toBe(2);
  expect(moved(undefined, 1, 0)).toBeUndefined();
});
