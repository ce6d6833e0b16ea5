//! Plain data shared by every crate of Stepscope.
//!
//! Nothing here reads, writes or computes: kinds of events, the documented schemas of the tables, the layout of what the
//! recorder writes, what a source record says, reports on their way to a screen, warnings, reasons for missing values,
//! exit codes, and how people write sizes, ranks and steps.

pub mod args;
pub mod arguments;
pub mod block_state;
pub mod class;
pub mod content;
pub mod derived_tables;
pub mod exit;
pub mod finding;
pub mod framework_op;
pub mod health;
pub mod hint;
pub mod kernel_category;
pub mod kind;
pub mod memory_picture;
pub mod note;
pub mod null_reason;
pub mod page;
pub mod picture;
pub mod problem;
pub mod report;
pub mod row_counts;
pub mod say;
pub mod schema;
pub mod segment;
pub mod session;
pub mod skipped;
pub mod source;
pub mod step_number;
pub mod step_source;
pub mod table_of;
pub mod tables;
pub mod timeline;
#[cfg(test)]
mod typescript;
pub mod unit;
pub mod version;
pub mod warning;

pub use arguments::{Expected, StepRange};
pub use block_state::BlockState;
pub use class::{Class, SpanClass};
pub use content::Content;
pub use exit::Exit;
pub use finding::{Finding, PredictedSaving, Severity};
pub use health::Grade;
pub use hint::Hint;
pub use kernel_category::KernelCategory;
pub use kind::{Kind, Phase};
pub use memory_picture::{DeviceMemory, MapBlock, MemoryOwner, MemoryPicture, MemoryTimeline, SegmentMap, StackCurve};
pub use note::Note;
pub use page::{EmptyPage, Frames, Page, PageEntry, RowCount};
pub use picture::{PictureSpan, PictureTrack, TimelinePicture};
pub use problem::Problem;
pub use report::{
    Cell, Holds, LeftOut, Look, Metric, Missing, Part, Report, ReportColumn, ReportTable, Role, Series, Status, Text,
    Tone,
};
pub use row_counts::RowCounts;
pub use say::{Figure, Piece, Rounding, Sentence, Target};
pub use schema::{Column, ColumnType, Table};
pub use session::{RunReading, RunState, RunStatus, Session, SourceSummary};
pub use skipped::{SkippedFile, skipped_sentences};
pub use source::{Device, RankFrom, SourceId, SourceRecord};
pub use step_number::step_numbers;
pub use step_source::StepSource;
pub use table_of::TableOf;
pub use timeline::{
    FoundName, LaneMarks, NameGroup, NameSearch, SameName, Search, SearchMarks, SearchMatch, SearchStep, SpanDetails,
    SpanRow, Timeline, TimelineCurve, TimelineCurves, TimelineStep, TimelineTrack, WorstInstance,
};
pub use unit::Unit;
