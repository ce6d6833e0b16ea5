import { expect, test } from "vitest";
import { hueOf, inkOn, ownerPaints, paintColor } from "./owner_colors";

const owner = (category: string) => ({ line: "a.py:1 f", frames: null, category });

test("a category has the hue of a class, what is not known is gray", () => {
  expect(["parameters", "optimizer_state", "forward", "gradient", "unknown", "new"].map(hueOf)).toEqual([
    "kernel",
    "dataloader",
    "cpu_exec",
    "communication",
    "other",
    "other",
  ]);
});

test("stacks of the timeline come first, and neighbors of one category differ", () => {
  const timeline = { stacks: [{ owner: 2, bytes: [] }, { owner: 0, bytes: [] }] };
  const owners = [owner("forward"), owner("forward"), owner("forward"), owner("unknown")];
  const paints = ownerPaints({ owners, timeline: timeline as never });
  expect(paints.map((paint) => paint.hue)).toEqual(["cpu_exec", "cpu_exec", "cpu_exec", "other"]);
  expect(paints[2]!.shade).toBe(0);
  expect(new Set(paints.slice(0, 3).map((paint) => paint.shade)).size).toBe(3);
  expect(ownerPaints({ owners, timeline: null })[0]!.shade).toBe(0);
});

test("a shade stays in its hue, and text on it is readable", () => {
  const color = (shade: number) => paintColor({ hue: "kernel", shade }, () => "#2e64d9");
  expect(color(0)).toEqual([46, 100, 217, 255]);
  expect(color(0.5)).toEqual([151, 178, 236, 255]);
  expect(inkOn(color(0))).toBe("#ffffff");
  expect(inkOn(color(0.5))).toBe("#06080b");
});
