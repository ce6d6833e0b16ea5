// The pages that are a table: which analysis they show, and what can be done with its rows.
import type { Page } from "../state/route";

/** What the address has for the rows of a tree without their nesting; the analysis knows nothing of it. */
export const FLAT = "flat";

/** What the address has for one row a collective, which the page asks for itself. */
export const SINGLE = "collective";

export type TablePageEntry = {
  analysis: string;
  /** What rows are called. */
  noun: string;
  /** Further groupings, as the analysis names them. */
  groups: [string, string][];
  /** The grouping whose rows appear below an expanded row. */
  expandBy?: string;
  /** Whether rows stand below one another unless a flat table is asked for. */
  isTree?: boolean;
  /** Columns that are shown though a terminal of this width has no room for them. */
  shown?: string[];
  /** Which frames its flame graph is made of. */
  frames?: "calls" | "modules";
  /** Whether sums can be shown per step and per call. */
  hasValues: boolean;
  /** What to record if there are no rows. */
  empty: { title: string; why: string; code?: string };
  /** The query behind the table, to go on from. */
  statement: string;
};

export const TABLE_PAGES: Partial<Record<Page, TablePageEntry>> = {
  operators: {
    analysis: "ops",
    noun: "operators",
    groups: [
      ["input_shape", "+ shape"],
      ["stack", "+ stack"],
    ],
    expandBy: "input_shape",
    frames: "calls",
    hasValues: true,
    empty: {
      title: "No operators in this recording",
      why: "Operators are recorded with the CPU activity.",
      code: "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
    },
    statement: "SELECT * FROM ops_by_name\nORDER BY device_self_ns DESC",
  },
  kernels: {
    analysis: "kernels",
    noun: "kernels",
    groups: [
      ["operator", "+ operator"],
      ["stream", "+ stream"],
    ],
    expandBy: "operator",
    shown: ["uses_tensor_cores"],
    hasValues: true,
    empty: {
      title: "No kernels in this recording",
      why: "Kernels are recorded with the activity of the device.",
      code: "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
    },
    statement: "SELECT * FROM kernels_by_name\nORDER BY total_ns DESC",
  },
  modules: {
    analysis: "modules",
    noun: "modules",
    groups: [
      [FLAT, "flat"],
      ["class", "by class"],
    ],
    isTree: true,
    frames: "modules",
    hasValues: true,
    empty: {
      title: "No modules in this recording",
      why: "Modules need Python frames; this trace has none.",
      code: "profile(..., with_stack=True, with_modules=True)",
    },
    statement: "SELECT * FROM spans\nWHERE python_module_id IS NOT NULL\nLIMIT 100",
  },
  transfers: {
    analysis: "transfers",
    noun: "copies",
    groups: [
      ["stream", "+ stream"],
      ["step", "+ step"],
    ],
    hasValues: true,
    empty: {
      title: "No copies in this recording",
      why: "Copies and fills are recorded with the activity of the device.",
      code: "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
    },
    statement: "SELECT * FROM device_events\nWHERE kind IN ('memcpy', 'memset')\nORDER BY dur_ns DESC\nLIMIT 100",
  },
  communication: {
    analysis: "comms",
    noun: "ranks",
    groups: [
      ["process_group", "+ group"],
      [SINGLE, "single collectives"],
    ],
    hasValues: false,
    empty: {
      title: "No collectives in this recording",
      why: "Ranks meet in collectives such as all_reduce; a run on one device has none.",
    },
    statement: "SELECT * FROM collectives\nLIMIT 100",
  },
  steps: {
    analysis: "steps",
    noun: "steps",
    groups: [],
    hasValues: false,
    empty: {
      title: "No steps in this recording",
      why: "The profiler marks steps when the loop tells it about them.",
      code: "with profile(schedule=schedule(wait=1, warmup=1, active=5)) as profiler:\n    for batch in loader:\n        train(batch)\n        profiler.step()",
    },
    statement: "SELECT * FROM steps\nORDER BY rank, step",
  },
  launches: {
    analysis: "launches",
    noun: "functions",
    groups: [],
    hasValues: true,
    empty: { title: "No launches in this recording", why: "Launches are recorded with the activity of the device." },
    statement: "SELECT * FROM launches\nLIMIT 100",
  },
  functions: {
    analysis: "functions",
    noun: "functions",
    groups: [
      ["caller", "+ caller"],
      ["callee", "+ callee"],
    ],
    hasValues: false,
    empty: {
      title: "No profile of functions in this recording",
      why: "Functions are recorded by Python's own profiler, which adds up calls.",
      code: "stepscope run --cprofile train.py",
    },
    statement: "SELECT * FROM functions\nORDER BY cumtime_ns DESC",
  },
  regions: {
    analysis: "regions",
    noun: "regions",
    groups: [],
    hasValues: true,
    empty: {
      title: "No regions in this recording",
      why: "Regions are marked in the code.",
      code: 'with torch.profiler.record_function("forward"):\n    ...',
    },
    statement: "SELECT name, count(*), sum(dur_ns) FROM spans\nWHERE kind = 'ann'\nGROUP BY name",
  },
};
