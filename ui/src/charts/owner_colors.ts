// Colors of the stacks that hold memory. The category of a stack picks one of the class hues; stacks of one category
// are lighter and darker steps of it, in the order of what they hold.
import type { ClassName } from "../format/names";
import { lightened, mixed, rgba, type Rgba } from "../timeline/palette";
import type { DeviceMemory } from "../server/types";

/** The class whose hue a category has; both the names of PyTorch's profiler and those that follow from a stack. */
const HUES: Record<string, ClassName> = {
  parameter: "kernel",
  parameters: "kernel",
  gradient: "communication",
  backward: "communication",
  activation: "cpu_exec",
  forward: "cpu_exec",
  optimizer: "dataloader",
  optimizer_state: "dataloader",
  input: "runtime",
  inputs: "runtime",
  temporary: "memset",
  autograd_detail: "memset",
  other: "memcpy",
};

/** Steps of lightness: those that follow one another differ most. */
const SHADES = [0, 0.26, -0.24, 0.13, -0.12];

export type OwnerPaint = { hue: ClassName; shade: number };

/** What is not known, such as memory older than the history, is gray. */
export function hueOf(category: string): ClassName {
  return HUES[category] ?? "other";
}

/** A paint for each stack: first those of the timeline, then all others, so that both pictures agree. */
export function ownerPaints(device: Pick<DeviceMemory, "owners" | "timeline">): OwnerPaint[] {
  const drawn = device.timeline?.stacks.map((stack) => stack.owner) ?? [];
  const order = [...new Set([...drawn, ...device.owners.keys()])];
  const used = new Map<ClassName, number>();
  const paints: OwnerPaint[] = [];
  for (const owner of order) {
    const hue = hueOf(device.owners[owner]?.category ?? "unknown");
    const turn = used.get(hue) ?? 0;
    used.set(hue, turn + 1);
    paints[owner] = { hue, shade: SHADES[turn % SHADES.length]! };
  }
  return paints;
}

/** How much of its color what is not known has: much of a picture may be older than the history. */
const UNKNOWN_SHARE = 0.66;

/** The color of a paint; `token` reads a color of the page. */
export function paintColor(paint: OwnerPaint, token: (name: string) => string): Rgba {
  const full = rgba(token(`--${paint.hue}`));
  return lightened(paint.hue === "other" ? mixed(rgba(token("--surface")), full, UNKNOWN_SHARE) : full, paint.shade);
}

export function cssColor([red, green, blue]: Rgba): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Black or white, whichever is read better on a color. */
export function inkOn([red, green, blue]: Rgba): string {
  const linear = (part: number) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return luminance > 0.179 ? "#06080b" : "#ffffff";
}
