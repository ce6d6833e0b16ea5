// Call stacks as a tree, and the tree as rows of boxes from the root down.

export type FlameNode = { name: string; total: number; self: number; children: Map<string, FlameNode> };
export type FlameBox = { node: FlameNode; depth: number; from: number; to: number };
export type Weighed = { stack: string | null; name: string; weight: number };

/** Frames that every call goes through and that say nothing. */
const PLUMBING = /_call_impl$|_contextlib\.py|^<built-in method|^<built-in function/;
const MODULE = "nn.Module: ";

/** `frames` keeps what counts: all but plumbing, or modules alone. Stacks are written from the innermost frame. */
export function flameTree(rows: Weighed[], frames: "calls" | "modules"): FlameNode {
  const root = node("all");
  for (const { stack, name, weight } of rows) {
    if (!(weight > 0)) continue;
    const all = (stack ?? "")
      .split(";")
      .filter((frame) => frame !== "")
      .toReversed();
    const kept =
      frames === "modules"
        ? all.filter((frame) => frame.startsWith(MODULE)).map((frame) => frame.slice(MODULE.length))
        : all.filter((frame) => !PLUMBING.test(frame));
    let at = root;
    at.total += weight;
    for (const frame of frames === "modules" ? kept : [...kept, name]) {
      let child = at.children.get(frame);
      if (!child) at.children.set(frame, (child = node(frame)));
      child.total += weight;
      at = child;
    }
    at.self += weight;
  }
  return root;
}

/** Where the tree begins to branch, and how many frames above it all time goes through. */
export function branching(root: FlameNode): { from: FlameNode; folded: number } {
  let [from, folded] = [root, -1];
  for (let next: FlameNode | undefined = root; next; folded++) {
    from = next;
    const only: FlameNode | undefined = next.children.size === 1 ? [...next.children.values()][0] : undefined;
    next = only && only.total === from.total && only.children.size > 0 ? only : undefined;
  }
  return { from, folded };
}

/** Boxes of at least `least` of the root's total, children from the largest. */
export function flameBoxes(root: FlameNode, least: number): FlameBox[] {
  const boxes: FlameBox[] = [];
  const place = (node: FlameNode, depth: number, from: number) => {
    if (node.total < least) return;
    boxes.push({ node, depth, from, to: from + node.total });
    let next = from;
    for (const child of [...node.children.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1))) {
      place(child, depth + 1, next);
      next += child.total;
    }
  };
  place(root, 0, 0);
  return boxes;
}

/** `torch/nn/modules/conv.py(458): forward` → `conv.py(458): forward`, `nn.Module: Linear_1` → `Linear_1`. */
export function frameLabel(name: string): string {
  return name.startsWith(MODULE) ? name.slice(MODULE.length) : name.replace(/^.*\/(?=[^/]+\.py\()/, "");
}

function node(name: string): FlameNode {
  return { name, total: 0, self: 0, children: new Map() };
}
