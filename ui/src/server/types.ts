// The server's answers, as its interface describes them.

/** A point in time in nanoseconds; a bigint, as a number would lose digits. */
export type PointNs = number | bigint;

export type Session = { version: string; runs: Run[] };

export type Run = {
  run: string;
  state: "ready" | "reading" | "failed";
  progress: null | { done_bytes: number; total_bytes: number };
  error: null | string;
  sources: Source[];
};

export type Grade = "good" | "partial" | "poor";

export type Source = {
  rank: number;
  window: number;
  events: number;
  first_ns: PointNs;
  last_ns: PointNs;
  health: Grade;
  devices: string[];
  complete_steps: number;
  rows: Record<string, number>;
};

export type Unit = "ns" | "bytes" | "moved_bytes" | "ratio" | "gb_per_s" | "flops" | "flops_per_s" | "id" | "plain";

export type Look =
  | "value"
  | "figure"
  | "operator"
  | "kernel"
  | "bar"
  | "length"
  | "class"
  | "spark"
  | "stack"
  | "severity"
  | "detail"
  | "hidden";

export type Cell = null | boolean | number | bigint | string | number[] | { [key: string]: unknown };

export type Column = {
  name: string;
  label: string | null;
  unit: Unit;
  look: Look;
  class: string | null;
  from_width: number;
};

export type TextPart = {
  kind: "text";
  label: string | null;
  text: string;
  right: string | null;
  tone: "plain" | "strong" | "secondary";
};
export type MetricPart = { kind: "metric"; name: string; value: Cell; unit: Unit; reason: string | null };
export type TablePart = {
  kind: "table";
  name: string;
  title: string | null;
  sorted_by: string | null;
  is_beside: boolean;
  left_out: number | null;
  notes: string[];
  columns: Column[];
  rows: Cell[][];
  total: Cell[] | null;
};
export type SeriesPart = { kind: "series"; name: string; unit: Unit; points: [number, number][] };
export type Part = TextPart | MetricPart | TablePart | SeriesPart;

export type Missing = { path: string; label: string; reason: string };
export type Report = { name: string; parts: Part[]; missing: Missing[] };

// All times below count nanoseconds from the first event of the recording.

export type Step = { step: number; name: string; start_ns: number; end_ns: number; complete: boolean };
export type Track = {
  track: number;
  kind: "thread" | "stream" | "async";
  process: string;
  name: string;
  device: number | null;
  stream: number | null;
  spans: number;
  depth: number;
  first_ns: number;
  last_ns: number;
};
export type TimelineOutline = { start_ns: number; end_ns: number; zero_ns: number; steps: Step[]; tracks: Track[] };

/** A row of `spans` without what is null. */
export type SpanRow = { [column: string]: Cell };
export type SpanDetails = {
  span: SpanRow;
  launch: SpanRow | null;
  operator: SpanRow | null;
  kernels: SpanRow[];
  forward: SpanRow | null;
  stack: string[];
  same_name: { count: number; total_ns: number; min_ns: number; max_ns: number };
};

export type Match = { span_id: number; track: number; depth: number; start_ns: number; dur_ns: number; name: string };
export type Matches = { count: number; matches: Match[] };
