import { expect, test } from "vitest";
import { madeReport, madeTable } from "../report/made_table";
import type { DeviceMemory, MapBlock, Report } from "../server/types";
import {
  deviceIds,
  figureOf,
  fullestDevice,
  hexAddress,
  isSnapshot,
  missingHistory,
  missingState,
  parseSelection,
  rowsOfDevice,
  usedByCategory,
  writeSelection,
} from "./memory_snapshot";

const report = (devices: [number, number][], history: [number, number][]): Report => ({
  name: "memory",
  missing: [],
  parts: [
    madeTable(["device_id", "reserved_bytes"], devices, { name: "devices" }),
    madeTable(["device_id", "peak_active_bytes"], history, { name: "history" }),
  ],
});

test("a snapshot is known by its history", () => {
  expect(isSnapshot(report([], []))).toBe(true);
  expect(isSnapshot(madeReport("memory", madeTable(["device"], [], { name: "devices" })))).toBe(false);
});

test("devices are those of the state and of the history", () => {
  const two = report([[1, 10]], [[0, 5], [1, 50]]);
  expect(deviceIds(two)).toEqual([0, 1]);
  expect(fullestDevice(two)).toBe(1);
  expect(fullestDevice(report([[3, 10], [4, 20]], []))).toBe(4);
  expect(figureOf(two, "devices", 0, "reserved_bytes")).toBeNull();
  expect(figureOf(two, "history", 1, "peak_active_bytes")).toBe(50);
});

test("rows are those of the device, unless the table is of all", () => {
  const table = madeTable(["owner", "device_id"], [["a", 0], ["b", 1]]);
  expect(rowsOfDevice(table, 1).rows).toEqual([["b", 1]]);
  expect(rowsOfDevice(madeTable(["owner"], [["a"]]), 1).rows).toEqual([["a"]]);
});

test("reasons are those of the report", () => {
  const missing = [{ path: "history[].end_active_bytes", label: "", reason: [{ words: "cut off" }] }];
  expect(missingState({ ...report([], []), missing })).toBe("cut off");
  expect(missingHistory({ ...report([], []), missing })).toBe("no history recorded");
});

const block = (state: string, owner: number | null, size_bytes: number): MapBlock => ({
  offset_bytes: 0,
  size_bytes,
  requested_bytes: null,
  state,
  owner,
});
const device = {
  owners: [{ line: "a", frames: null, category: "forward" }],
  segments: [{ blocks: [block("allocated", 0, 5), block("inactive", null, 9), block("allocated", null, 7), block("pending", 0, 3)] }],
} as unknown as DeviceMemory;

test("a selection is written and read back, one of another device is not", () => {
  for (const text of ["stack-0", "block-0.2"]) expect(writeSelection(parseSelection(text, device))).toBe(text);
  for (const text of ["stack-1", "block-0.4", "block-1.0", "aten::mm", undefined])
    expect(parseSelection(text, device)).toBeUndefined();
});

test("blocks in use add up by category", () => {
  expect(usedByCategory(device)).toEqual([["unknown", 7], ["forward", 5]]);
});

test("addresses keep all digits", () => {
  expect(hexAddress("0x7f0000000000", 512)).toBe("0x7f0000000200");
  expect(hexAddress("0xffffffffffffffff")).toBe("0xffffffffffffffff");
  expect(hexAddress(null)).toBe("–");
});
