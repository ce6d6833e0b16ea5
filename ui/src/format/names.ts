// Names for people: of columns, classes and events.
import { count } from "./number";
import type { Column } from "../server/types";

/** The classes of time in stacking order, always. */
export const CLASSES = [
  "kernel",
  "memcpy",
  "memset",
  "communication",
  "runtime",
  "dataloader",
  "cpu_exec",
  "other",
] as const;
export type ClassName = (typeof CLASSES)[number];

/** Delays on a critical path, after the classes, each with the class whose color its tint is made of. */
export const DELAYS = {
  launch_delay: "runtime",
  device_gap: "kernel",
  sync_delay: "memcpy",
  handoff: "cpu_exec",
  contention: "dataloader",
  unexplained: "other",
  rank_skew: "communication",
} as const satisfies Record<string, ClassName>;

/** What the time of a critical path goes to, in stacking order. */
export const PATH_CLASSES: readonly string[] = [...CLASSES, ...Object.keys(DELAYS)];

/** The class whose color a delay is a tint of; undefined for a class with a color of its own. */
export function tintedClass(name: string): ClassName | undefined {
  return name in DELAYS ? DELAYS[name as keyof typeof DELAYS] : undefined;
}

const CLASS_LABELS: Record<string, string> = {
  kernel: "Kernel",
  memcpy: "Memcpy",
  memset: "Memset",
  communication: "Communication",
  runtime: "Runtime",
  dataloader: "DataLoader",
  cpu_exec: "CPU execution",
  other: "Other",
  launch_delay: "Launch delay",
  device_gap: "Device gap",
  sync_delay: "Sync delay",
  handoff: "Handoff",
  contention: "Contention",
  unexplained: "Unexplained",
  rank_skew: "Rank skew",
  python: "Python",
  annotation: "Annotation",
};

export function classLabel(name: string): string {
  return CLASS_LABELS[name] ?? name;
}

const UNIT_SUFFIX = /_(ns|bytes|ratio|gb_per_s|flops_per_s)$/;

/** The header of a column without its unit. */
export function columnLabel(column: Column): string {
  const base = column.name.replace(UNIT_SUFFIX, "");
  const label = column.label ?? CLASS_LABELS[base] ?? base.replaceAll("_", " ");
  // A share belongs to the column before it, so it stays small.
  return column.unit === "ratio" && label === "share" ? label : sentenceCase(label);
}

/** With a capital, unless it begins with a name such as `num_workers` or `p50`. */
export function sentenceCase(text: string): string {
  return /^\w+[_=(:.]\w|^p\d/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** `1 step`, `2 steps`, `1 copy`: the noun is given in the plural. */
export function counted(number: number, nouns: string): string {
  return `${count(number)} ${number === 1 ? nouns.replace(/ies$/, "y").replace(/s$/, "") : nouns}`;
}

/** What a label on a span says: `aten::` tells nothing. */
export function spanLabel(name: string): string {
  return name.startsWith("aten::") ? name.slice(6) : name;
}

/** `ProfilerStep#7` → `7`. */
export function stepNumber(name: string): string {
  return /#(\d+)$/.exec(name)?.[1] ?? name;
}

/** `ProfilerStep#7` → `#7`; a step without a number keeps its name. */
export function stepMark(name: string): string {
  return /#\d+$/.exec(name)?.[0] ?? name;
}

/** `[[32, 256, 14, 14], [256, 1024, 1, 1]]` → `32×256×14×14 256×1024×1×1`; other texts stay. */
export function shapeLabel(text: string): string {
  try {
    const shapes: unknown = JSON.parse(text);
    if (!Array.isArray(shapes)) return text;
    const words = shapes
      .filter((shape) => Array.isArray(shape) && shape.length > 0)
      .map((shape) => shape.map((size: unknown) => (Array.isArray(size) ? size.join("×") : size)).join("×"));
    return words.length > 0 ? words.join("  ") : "no shapes";
  } catch {
    return text;
  }
}
