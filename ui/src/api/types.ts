// Generated from the Rust types of crates/model. Do not edit: run the tests with STEPSCOPE_UPDATE=1.

/** Integers beyond 2^53 come as text; in columns of numbers the page makes them `bigint`. */
export type Cell =
  | null | boolean | number | bigint | string | Array<number> | { sentence: Sentence } | { sentences: Array<Sentence> }
  | { [key: string]: unknown };

export type SpanRow = { [column: string]: Cell };

export type Look =
  | "value" | "figure" | "operator" | "kernel" | "bar" | "length" | "class" | "spark" | "stack" | "severity"
  | "detail" | "hidden";

export type Class = "kernel" | "memcpy" | "memset" | "communication" | "runtime" | "dataloader" | "cpu_exec" | "other";

export type Column = {
  /** Name in JSON and CSV, with its unit. */
  name: string,
  /** Header for people; follows from the name when missing. */
  label: string | null,
  /** Unit of its values. */
  unit: Unit,
  /** What its values look like on a screen. */
  look: Look,
  /** The class whose color a bar has; neutral when missing. */
  class: Class | null,
  /** Screens narrower than this do not show it, in columns of a terminal. */
  from_width: number,
};

export type DeviceMemory = {
  /** Number of the device. */
  device_id: number,
  /** Stacks that blocks and curves refer to by their place. */
  owners: Array<MemoryOwner>,
  /** Segments, the largest first. */
  segments: Array<SegmentMap>,
  /** Segments that are not among them, because there are too many. */
  segments_left_out: number,
  /** How much memory was in use; none where no history is recorded. */
  timeline: MemoryTimeline | null,
};

export type EmptyPage = {
  /** What is not there. */
  title: string,
  /** Why. */
  why: string,
  /** What to record. */
  code: string | null,
};

export type Figure = {
  /** Value. */
  value: number,
  /** What it counts. */
  unit: Unit,
  /** How it is rounded. */
  rounding: Rounding,
};

export type FoundName = {
  /** Name as recorded. */
  name: string,
  /** How many spans have it. */
  count: number,
  /** Sum of their lengths. */
  total_ns: number,
  /** The longest of them. */
  longest_span_id: number,
};

export type Frames = "calls" | "modules";

export type Grade = "good" | "partial" | "poor";

export type LaneMarks = {
  /** Track. */
  track: number,
  /** Lane of the track. */
  depth: number,
  /** Start and end of each mark, by time; spans that no pixel separates are one mark. */
  ranges: Array<[number, number]>,
};

export type MapBlock = {
  /** Where in the segment it begins. */
  offset_bytes: number,
  /** Its size. */
  size_bytes: number,
  /** What was asked for. */
  requested_bytes: number | null,
  /** allocated, pending or inactive. */
  state: string,
  /** Who allocated it, as a place among the owners. */
  owner: number | null,
};

export type MemoryOwner = {
  /** The line of the program that it belongs to. */
  line: string,
  /** Its frames, innermost first, one on each line. */
  frames: string | null,
  /** What its memory is for; an estimate. */
  category: string,
};

export type MemoryPicture = {
  /** In the order of their numbers. */
  devices: Array<DeviceMemory>,
};

export type MemoryTimeline = {
  /** Nanoseconds from the start of the recording, or numbers of changes where no times are recorded. */
  at: Array<number>,
  /** Whether times are recorded. */
  has_times: boolean,
  /** Levels count from the start of the history, because its end is not known. */
  is_relative: boolean,
  /** What was in use. */
  active_bytes: Array<number>,
  /** What the allocator had taken. */
  reserved_bytes: Array<number>,
  /** What the stacks that hold most at the peak held, most first. */
  stacks: Array<StackCurve>,
  /** What the other stacks held. */
  other_bytes: Array<number>,
  /** Place of the peak. */
  peak: number,
};

export type Metric = {
  /** Name in JSON, with its unit. */
  name: string,
  /** Value. */
  value: Cell,
  /** Unit to show. */
  unit: Unit,
  /** Why the value is missing. */
  reason: Sentence | null,
  /** Whether only programs get it, because a text says it to people. */
  is_for_programs: boolean,
};

export type Missing = {
  /** Where it would be in JSON, such as `rows[0].peak_bytes` or `memory_peak_bytes`. */
  path: string,
  /** What people call it. */
  label: string,
  /** Why it is missing: one of the fixed reasons, or one with a figure. */
  reason: Sentence,
};

export type NameGroup = {
  /** operators, kernels, modules, transfers, collectives, regions, frames, calls or others. */
  group: string,
  /** How many names there are in all. */
  count: number,
  /** The first of them: those that begin with the text, then those that take most time. */
  names: Array<FoundName>,
};

export type NameSearch = {
  /** Groups that have some, in the order of the pages. */
  groups: Array<NameGroup>,
};

export type Page = {
  /** Name in the address; also of its icon, if there is one. */
  address: string,
  /** The key that leads to it after `g`. */
  key: string | null,
  /** What rows are called. */
  noun: string,
  /** What rows are grouped by at first; in a `tree` they stand below one another. */
  rows_by: string,
  /** Further groupings, as the analysis names them, and what their buttons say. */
  groups: Array<[string, string]>,
  /** The grouping whose rows appear below an expanded row. */
  expand_by: string | null,
  /** Columns that are shown though a terminal of this width has no room for them. */
  shown: Array<string>,
  /** Which frames its flame graph is made of. */
  frames: Frames | null,
  /** Whether sums can be shown per step and per call. */
  has_values: boolean,
  /** Whether it shows all ranks unless one is chosen. */
  shows_all_ranks: boolean,
  /** Whether it gives device time to operators, so that work without a launch is missing. */
  is_by_operator: boolean,
  /** The table without whose rows there is nothing to show. */
  table: string | null,
  /** How many rows the rail says that it has. */
  count: RowCount,
  /** What is said if there are no rows. */
  empty: EmptyPage,
  /** The query behind the table, to go on from. */
  statement: string,
};

export type PageEntry = {
  /** Name of the analysis. */
  analysis: string,
  /** What the page is called. */
  label: string,
  /** What can be done on it. */
  page: Page,
};

export type Part = { "kind": "text" } & Text | { "kind": "metric" } & Metric | { "kind": "table" } & Table | { "kind": "series" } & Series;

export type Piece = { "words": string } | { "figure": Figure } | { "target": Target } | { "separator": null };

export type Problem = {
  /** What happened. */
  message: string,
  /** The file, and the place in it. */
  location: string | null,
  /** What to do next. */
  hint: string | null,
};

export type Report = {
  /** Name of the command, for the `schema` member of JSON: `stepscope.<name>/1`. */
  name: string,
  /** The parts, in reading order. */
  parts: Array<Part>,
  /** Values that are missing, and why. */
  missing: Array<Missing>,
};

export type Role = "plain" | "headline" | "head" | "finding" | "utilization" | "compute" | "health" | "ranks" | "steps" | "null" | "rule" | "what" | "why" | "evidence" | "saving" | "fix" | "not_this" | "show" | "next";

export type Rounding = "usual" | "down" | "whole" | "tenths";

export type RowCount = "asked" | "of_table" | "none";

export type RunReading = {
  /** Bytes that were read of all its files. */
  done_bytes: number,
  /** Their bytes in all; 0 as long as they are not known. */
  total_bytes: number,
  /** Files that are read. */
  done_files: number,
  /** Files in all; 0 as long as they are not known. */
  total_files: number,
  /** The name of the file that is being read. */
  file: string | null,
};

export type RunState = "ready" | "reading" | "failed";

export type RunStatus = {
  /** Name of the run, as in the address of its answers. */
  run: string,
  /** Whether questions can be asked. */
  state: RunState,
  /** How far its traces are read; also while a run that changed is read again. */
  progress: RunReading | null,
  /** Why it cannot be read. */
  error: Problem | null,
  /** Which state of its traces is asked; another one after each change, and 0 before the first. */
  revision: number,
  /** Its recordings, once it is ready. */
  sources: Array<SourceSummary>,
  /** Why it is a run of its own though its traces lie beside others. */
  apart_because: string | null,
};

export type SameName = {
  /** How many there are. */
  count: number,
  /** Sum of their lengths. */
  total_ns: number,
  /** The shortest. */
  min_ns: number,
  /** The longest. */
  max_ns: number,
};

export type Search = {
  /** How many spans there are in all. */
  count: number,
  /** How many start in each of equal parts of the recording. */
  density: Array<number>,
};

export type SearchMarks = {
  /** Lanes that have some of them. */
  lanes: Array<LaneMarks>,
};

export type SearchMatch = {
  /** Number of the span in its recording. */
  span_id: number,
  /** Track it lies on. */
  track: number,
  /** Lane of the track. */
  depth: number,
  /** Start. */
  start_ns: number,
  /** Length. */
  dur_ns: number,
};

export type SearchStep = {
  /** How many spans there are in all. */
  count: number,
  /** Place of this one, from 1; 0 when there is none. */
  place: number,
  /** The span. */
  found: SearchMatch | null,
};

export type SegmentMap = {
  /** Address, as people write it. */
  address: string | null,
  /** Stream that it belongs to. */
  stream_id: number | null,
  /** small or large, as recorded. */
  segment_type: string | null,
  /** Whether it can grow. */
  is_expandable: boolean | null,
  /** Its size. */
  total_bytes: number,
  /** Bytes of allocated blocks. */
  allocated_bytes: number,
  /** Bytes of blocks that wait to be freed. */
  pending_bytes: number,
  /** Bytes of inactive blocks. */
  inactive_bytes: number,
  /** Its blocks, in the order of their addresses. */
  blocks: Array<MapBlock>,
};

export type Sentence = Array<Piece>;

export type Series = {
  /** Name in JSON, with its unit. */
  name: string,
  /** Unit of the values. */
  unit: Unit,
  /** Points as (time in nanoseconds, value). */
  points: Array<[number, number]>,
};

export type Session = {
  /** Version of Stepscope. */
  version: string,
  /** Pages that are an analysis, in the order of the rail. */
  pages: Array<PageEntry>,
  /** Runs, in the order in which they were named or found. */
  runs: Array<RunStatus>,
  /** Files beside the traces that were not read. */
  skipped_files: Array<SkippedFile>,
};

export type SkippedFile = {
  /** The file, as found. */
  path: string,
  /** What it is, or why it cannot be read: `a Python pickle`, `Permission denied`. */
  what: string,
  /** Whether it may be a trace and cannot be read; otherwise its format is not one that Stepscope reads. */
  is_unreadable: boolean,
};

export type SourceSummary = {
  /** Rank of the process that recorded it. */
  rank: number,
  /** Which of the rank's recordings, from 0. */
  window: number,
  /** Elements of the event list. */
  events: number,
  /** Start of the first event, by the clock of the recording. */
  first_ns: number | bigint | null,
  /** End of the last event. */
  last_ns: number | bigint | null,
  /** Grade of its health; null where it is not known. */
  health: Grade | null,
  /** Names of its devices. */
  devices: Array<string>,
  /** Steps whose device work was recorded to the end. */
  complete_steps: number,
  /** Rows of each table. */
  rows: { [key in string]: number },
};

export type SpanDetails = {
  /** The span. */
  span: SpanRow,
  /** The call that launched it. */
  launch: SpanRow | null,
  /** The operator it belongs to. */
  operator: SpanRow | null,
  /** The device events that it launched. */
  kernels: Array<SpanRow>,
  /** The forward operator of a backward one. */
  forward: SpanRow | null,
  /** Python frames around it or around its launch, outermost first. */
  stack: Array<string>,
  /** All spans of this name and kind in the recording. */
  same_name: SameName,
};

export type StackCurve = {
  /** Its place among the owners. */
  owner: number,
  /** Bytes at each moment. */
  bytes: Array<number>,
};

export type Status = { "health": Grade | null } | { "good": {
  /** Those. */
  good: number,
  /** All. */
  all: number, } } | { "at_stake": number } | { "saving": number };

export type Table = {
  /** Name in JSON; the main table of a command is `rows`. */
  name: string,
  /** Heading for people, in place of the first column's; the name in capitals when missing. */
  title: string | null,
  /** Columns. */
  columns: Array<Column>,
  /** Rows; each as long as `columns`. */
  rows: Array<Array<Cell>>,
  /** Sums, shown below a rule; as long as `columns`. Where there is nothing to sum a text may stand, or an empty one. */
  total: Array<Cell> | null,
  /** The column that the rows are sorted by, for the arrow in its header; a leading `-` says from the largest. */
  sorted_by: string | null,
  /** Rows that a limit left out. */
  left_out: number | null,
  /** What the line below the table says, in pieces. */
  notes: Array<Sentence>,
  /** Whether it may stand beside the table before it when the screen has room. */
  is_beside: boolean,
};

export type Target = {
  /** The analysis, or another answer such as `health`. */
  ask: string,
  /** What its rows are grouped by. */
  group_by: string | null,
  /** What its rows are sorted by. */
  sort: string | null,
};

export type Text = {
  /** What it is for; texts with a label that follow one another stand below each other. */
  role: Role,
  /** The lines. */
  lines: Array<Sentence>,
  /** The grade that the first line gives the reason for; stands before it. */
  explains: Grade | null,
  /** What stands at the right end of the first line. */
  right: Status | null,
  /** How much it weighs. */
  tone: Tone,
  /** Whether it is code or a command: never broken into lines, so that it can be copied. */
  is_code: boolean,
};

export type Timeline = {
  /** Start of the recording: 0. */
  start_ns: number,
  /** End of the recording. */
  end_ns: number,
  /** Where a ruler has its zero: the start of the first step, else of the first event. */
  zero_ns: number,
  /** Steps, in order. */
  steps: Array<TimelineStep>,
  /** Threads, streams and lanes, in the order of the trace. */
  tracks: Array<TimelineTrack>,
};

export type TimelineCurve = {
  /** memory, queue or counter. */
  kind: string,
  /** What people call it. */
  name: string,
  /** What it is measured at, such as gpu0 or stream 7; empty when there is nothing to tell apart. */
  place: string,
  /** Device that it belongs to. */
  device: number | null,
  /** Unit of its values. */
  unit: Unit,
  /** Its highest value in the whole recording, so that an axis stays as it is. */
  most: number,
  /** Changes: time and value, which holds until the next. */
  points: Array<[number, number]>,
};

export type TimelineCurves = {
  /** Memory, queues of launches, then counters of the trace. */
  curves: Array<TimelineCurve>,
  /** Counters that are not among them, because there are too many. */
  counters_left_out: number,
};

export type TimelineStep = {
  /** Position of the step in the trace, from 0. */
  step: number,
  /** Its number: the one that the recording gives it, else its place. */
  number: number,
  /** Name of its mark. */
  name: string,
  /** Start. */
  start_ns: number,
  /** End. */
  end_ns: number,
  /** Whether its device work was recorded to the end. */
  complete: boolean,
};

export type TimelineTrack = {
  /** Number of the track in its recording. */
  track: number,
  /** thread, stream or async. */
  kind: string,
  /** Name of the process or device. */
  process: string,
  /** Name of the thread or stream. */
  name: string,
  /** Device of a stream. */
  device: number | null,
  /** Number of a stream. */
  stream: number | null,
  /** Spans on it. */
  spans: number,
  /** Lanes that its spans need. */
  depth: number,
  /** Start of its first event. */
  first_ns: number | null,
  /** End of its last event. */
  last_ns: number | null,
};

export type Tone = "plain" | "strong" | "secondary";

export type Unit = "plain" | "ns" | "bytes" | "moved_bytes" | "ratio" | "gb_per_s" | "flops" | "flops_per_s" | "id";

export type WorstInstance = {
  /** Rank of its recording. */
  rank: number,
  /** Window of its recording. */
  window: number,
  /** The event; null where it is a stretch of time, such as one without work. */
  span_id: number | null,
  /** Start. */
  start_ns: number,
  /** Length. */
  dur_ns: number,
};
