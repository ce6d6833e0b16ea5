// Modules of two runs as one tree, each as wide as the longer of its two times.
import type { FlameNode } from "./flame";

export type ModuleChange = { path: string; a: number; b: number; isNoise: boolean };
export type ModuleSides = { a: number; b: number; isNoise: boolean };

/** The tree, and both times of every node in it. */
export function moduleFlame(rows: ModuleChange[]): { root: FlameNode; sides: Map<FlameNode, ModuleSides> } {
  const root = node("all modules");
  const sides = new Map<FlameNode, ModuleSides>();
  for (const { path, ...times } of rows) {
    let at = root;
    for (const name of path.split("/")) {
      let child = at.children.get(name);
      if (!child) at.children.set(name, (child = node(name)));
      at = child;
    }
    sides.set(at, times);
  }
  measure(root, sides);
  return { root, sides };
}

/** What a node has no row for is the sum of what is inside of it. */
function measure(at: FlameNode, sides: Map<FlameNode, ModuleSides>): void {
  let [a, b, inside, isNoise] = [0, 0, 0, true];
  for (const child of at.children.values()) {
    measure(child, sides);
    const known = sides.get(child)!;
    [a, b, inside, isNoise] = [a + known.a, b + known.b, inside + child.total, isNoise && known.isNoise];
  }
  const own = sides.get(at) ?? { a, b, isNoise };
  sides.set(at, own);
  // A module that replaces another one stands beside it: together they are wider than either side.
  at.total = Math.max(own.a, own.b, inside);
  at.self = at.total - inside;
}

function node(name: string): FlameNode {
  return { name, total: 0, self: 0, children: new Map() };
}
