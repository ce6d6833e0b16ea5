import { expect, test } from "vitest";
import type { Cell } from "../server/types";
import { madeTable } from "./made_table";
import { openAtFirst, parentPlaces, treeRows } from "./tree";

const tableOf = (rows: Cell[][]) => madeTable(["name", "parent"], rows);

const net = tableOf([
  ["Linear_1", "Block_0"],
  ["Net_0", null],
  ["Block_0", "Net_0"],
  ["Linear_0", "Block_0"],
  ["Head_0", "gone"],
]);

test("rows find their parents", () => {
  expect(parentPlaces(net)).toEqual([2, -1, 1, 2, -1]);
});

test("modules that call each other are no endless tree", () => {
  const parents = parentPlaces(
    tableOf([
      ["A", "B"],
      ["B", "A"],
      ["C", "C"],
    ]),
  );
  expect(parents).toEqual([-1, 0, -1]);
  expect(treeRows([0, 1, 2], parents, () => true).map((row) => row.place)).toEqual([0, 1, 2]);
});

test("children stand below their parent, in the order given", () => {
  const rows = treeRows([3, 0, 1, 2, 4], parentPlaces(net), () => true);
  expect(rows.map(({ place, depth }) => [place, depth])).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    [0, 2],
    [4, 0],
  ]);
});

test("a closed row hides what is below it", () => {
  const rows = treeRows([0, 1, 2, 3, 4], parentPlaces(net), (place) => place === 1);
  expect(rows.map((row) => row.place)).toEqual([1, 2, 4]);
  expect(rows[1]).toEqual({ place: 2, depth: 1, hasChildren: true, isOpen: false });
});

test("a filter shows what it keeps with its ancestors", () => {
  expect(treeRows([0], parentPlaces(net), () => false).map((row) => row.place)).toEqual([1, 2, 0]);
});

test("levels open as long as their rows are few", () => {
  expect(openAtFirst(parentPlaces(net))).toEqual(new Set([1, 2]));
  const wide = [-1, 0, ...Array.from({ length: 60 }, () => 1)];
  expect(openAtFirst(wide)).toEqual(new Set([0]));
});
