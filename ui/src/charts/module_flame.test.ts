import { expect, test } from "vitest";
import { moduleFlame } from "./module_flame";

const row = (path: string, a: number, b: number, isNoise = false) => ({ path, a, b, isNoise });

test("a module is as wide as the longer of its times", () => {
  const { root, sides } = moduleFlame([row("Net_0", 10, 14), row("Net_0/Linear_0", 6, 9), row("Net_0/Linear_1", 4, 3, true)]);
  const net = root.children.get("Net_0")!;
  expect([root.total, net.total, net.self]).toEqual([14, 14, 1]);
  expect([...net.children.values()].map((child) => [child.name, child.total])).toEqual([["Linear_0", 9], ["Linear_1", 4]]);
  expect(sides.get(root)).toEqual({ a: 10, b: 14, isNoise: false });
});

test("modules that replace each other stand side by side", () => {
  const { root } = moduleFlame([row("Net_0", 10, 10), row("Net_0/Old_0", 10, 0), row("Net_0/New_0", 0, 10)]);
  expect(root.children.get("Net_0")!.total).toBe(20);
});

test("a module without a row has the sum of those inside", () => {
  const { root, sides } = moduleFlame([row("Net_0/Linear_0", 6, 9), row("Net_0/Linear_1", 4, 4, true)]);
  expect(sides.get(root.children.get("Net_0")!)).toEqual({ a: 10, b: 13, isNoise: false });
});
