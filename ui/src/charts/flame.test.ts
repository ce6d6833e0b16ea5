import { expect, test } from "vitest";
import { branching, flameBoxes, flameTree, frameLabel } from "./flame";

const rows = [
  {
    stack:
      "torch/nn/modules/module.py(1): _call_impl;nn.Module: Linear_1;a/model.py(2): forward;nn.Module: Net_0;train.py(9): <module>",
    name: "aten::mm",
    weight: 6,
  },
  { stack: "nn.Module: Net_0;train.py(9): <module>", name: "aten::add", weight: 3 },
  { stack: null, name: "backward", weight: 1 },
];

test("a stack is a path from the root, without what all calls share", () => {
  const boxes = flameBoxes(flameTree(rows, "calls"), 0).map(
    (box) => `${" ".repeat(box.depth)}${frameLabel(box.node.name)} ${box.from}–${box.to}`,
  );
  expect(boxes).toEqual([
    "all 0–10",
    " train.py(9): <module> 0–9",
    "  Net_0 0–9",
    "   model.py(2): forward 0–6",
    "    Linear_1 0–6",
    "     aten::mm 0–6",
    "   aten::add 6–9",
    " backward 9–10",
  ]);
});

test("frames that all time goes through are folded", () => {
  const { from, folded } = branching(flameTree(rows.slice(0, 2), "calls"));
  expect([from.name, folded]).toEqual(["nn.Module: Net_0", 2]);
  expect(branching(flameTree(rows, "calls")).folded).toBe(0);
});

test("modules alone", () => {
  const tree = flameTree(rows, "modules");
  expect(flameBoxes(tree, 2).map((box) => box.node.name)).toEqual(["all", "Net_0", "Linear_1"]);
  expect(tree.children.get("Net_0")!.self).toBe(3);
});
