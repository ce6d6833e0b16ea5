// The server's answers: the types that are generated from its own, under the names that pages use.
import type { Part, SourceSummary } from "../api/types";

export type {
  Cell,
  Column,
  DeviceMemory,
  Figure,
  Grade,
  Look,
  MapBlock,
  MemoryOwner,
  MemoryPicture,
  MemoryTimeline,
  Missing,
  PageEntry,
  Part,
  Piece,
  Problem,
  Report,
  Role,
  Rounding,
  RunReading,
  RunStatus as Run,
  FoundName,
  LaneMarks,
  NameGroup,
  NameSearch,
  Search,
  SearchMarks,
  SearchMatch,
  SearchStep,
  SegmentMap,
  Sentence,
  Session,
  SkippedFile,
  SourceSummary as Source,
  SpanDetails,
  SpanRow,
  Target,
  Timeline as TimelineOutline,
  TimelineCurve,
  TimelineCurves,
  TimelineStep as Step,
  TimelineTrack as Track,
  Unit,
  WorstInstance,
} from "../api/types";

/** A point in time in nanoseconds; a bigint, as a number would lose digits. */
export type PointNs = NonNullable<SourceSummary["first_ns"]>;

export type TextPart = Extract<Part, { kind: "text" }>;
export type MetricPart = Extract<Part, { kind: "metric" }>;
export type TablePart = Extract<Part, { kind: "table" }>;
export type SeriesPart = Extract<Part, { kind: "series" }>;
