import { expect, test } from "vitest";
import { cellText, choosableColumns, distinctLabels, shownColumns } from "./columns";
import { madeColumn as column, madeTable as tableOf } from "./made_table";
import { rowKeys, withKeysShown } from "./row_keys";

test("columns that read the same name what they belong to", () => {
  const labels = distinctLabels([
    column("device_self_ns", { unit: "ns" }),
    column("device_self_ratio", { unit: "ratio", label: "share" }),
    column("host_self_ns", { unit: "ns" }),
    column("host_self_ratio", { unit: "ratio", label: "share" }),
    column("host_memory_bytes", { unit: "bytes", label: "memory" }),
    column("device_memory_bytes", { unit: "bytes", label: "memory" }),
  ]);
  expect(labels).toEqual([
    "Device self",
    "Device self share",
    "Host self",
    "Host self share",
    "Host memory",
    "Device memory",
  ]);
});

test("a share that is alone stays short", () => {
  expect(distinctLabels([column("total_ns", { unit: "ns" }), column("share_ratio", { unit: "ratio", label: "share" })])).toEqual(
    ["Total", "share"],
  );
});

test("columns that do not apply and details cannot be chosen", () => {
  const table = tableOf(
    [column("name"), column("rank", { look: "hidden" }), column("spans", { look: "hidden" }), column("stack", { look: "detail" })],
    [["aten::add", null, 4, "a.py(1): f"]],
  );
  expect(choosableColumns(table).map((each) => each.name)).toEqual(["name", "spans"]);
});

test("kernels that shorten to one text show what differs", () => {
  const table = tableOf(
    [column("name", { look: "kernel" })],
    [["void f<int, 1>(a)"], ["void a::g<8, float>(a)"], ["void b::g<8, float>(b)"], ["void b::g<8, float>(c)"]],
  );
  const [shown] = shownColumns(table, [], () => true);
  const texts = table.rows.map((row) => cellText(shown!, row[0]!));
  expect(new Set(texts).size).toBe(4);
  expect(texts[0]).toBe("f<1>");
});

test("columns of a query keep their names, and values their digits", () => {
  const table = tableOf([column("total_ns", { unit: "ns" }), column("share_ratio", { unit: "ratio" })], [[123_456_789, 0.25]]);
  const [total, share] = shownColumns(table, [], () => true, "raw");
  expect([total!.label, total!.symbol, share!.label]).toEqual(["total_ns", "", "share_ratio"]);
  expect([cellText(total!, 123_456_789), cellText(share!, 0.25)]).toEqual(["123456789", "0.25"]);
});

const grouped = tableOf(
  [
    column("name", { look: "operator" }),
    column("calls"),
    column("input_shape", { look: "hidden" }),
    column("stack", { look: "detail" }),
  ],
  [
    ["aten::conv", 2, null, "torch/nn/conv.py(4): forward;net.py(7): forward;train.py(9): <module>"],
    ["aten::conv", 1, null, "torch/nn/conv.py(4): forward;net.py(8): forward;train.py(9): <module>"],
    ["aten::conv", 1, null, null],
  ],
);

test("rows grouped by stack show where they are called from", () => {
  const table = withKeysShown({ ...grouped, total: ["3", 4, "", ""] });
  expect(table.columns.map((each) => each.name)).toEqual(["name", "called_from", "calls", "input_shape", "stack"]);
  expect(table.rows.map((row) => row[1])).toEqual(["net.py(7): forward", "net.py(8): forward", null]);
  expect(table.total).toEqual(["3", "", 4, "", ""]);
  const shown = shownColumns(table, [], (column) => column.look === "value");
  expect(shown[0]).toMatchObject({ whole: 4, reason: "no Python frame recorded around it" });
});

test("rows grouped by shape show their shapes", () => {
  const table = withKeysShown(
    tableOf([column("name"), column("input_shape", { look: "detail" })], [["aten::mm", "[[2, 3], [3, 4]]"]]),
  );
  expect(table.rows[0]![1]).toBe("2×3  3×4");
});

test("a table without such details stays", () => {
  const table = tableOf([column("name")], [["a"]]);
  expect(withKeysShown(table)).toBe(table);
});

test("rows of one name have different keys", () => {
  expect(rowKeys(grouped)).toEqual(["aten::conv", "aten::conv (2)", "aten::conv (3)"]);
  // Steps begin with a rank that is not shown.
  expect(rowKeys(tableOf([column("rank", { look: "hidden" }), column("step")], [[null, 5], [null, 6]]))).toEqual(["5", "6"]);
});
