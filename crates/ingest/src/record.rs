//! Events as fixed-width records: what is left of an event once its texts are numbers.

use stepscope_model::args::SpanArgColumn;
use stepscope_model::{Kind, Phase};

use crate::strings::TextId;

/// Whether a time can be kept: 146 years around the epoch, so that the difference of any two fits too.
pub(crate) fn is_in_range(time: i64) -> bool {
    (-i64::MAX / 2..=i64::MAX / 2).contains(&time)
}

/// Number of a track in this source.
pub(crate) type TrackId = u32;

/// Place of a span in the order of the table; equal to its index once the spans are sorted.
pub(crate) type SpanId = u32;

/// An event with a place in time.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub track: TrackId,
    pub start: i64,
    pub end: i64,
    pub position: u64,
    pub phase: Phase,
    pub flag: Option<Flag>,
    pub kind: Kind,
    pub category: Option<TextId>,
    pub name: Option<TextId>,
    /// 0 in the trace means none.
    pub correlation: Option<i64>,
    pub external_id: Option<i64>,
    pub args: Args,
}

impl Span {
    pub(crate) fn dur(&self) -> i64 {
        self.end - self.start
    }

    /// Metrics are about complete events only (metrics, section 2).
    pub(crate) fn is_complete_event(&self) -> bool {
        self.phase == Phase::Complete
    }
}

/// What is special about a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It has no length.
    Instant,
    /// Its end was not recorded.
    OpenEnd,
}

impl Flag {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::OpenEnd => "open_end",
        }
    }
}

/// Arguments of an event: the typed ones as cells in `Recording::cells`, the rest as JSON text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Args {
    pub first_cell: u64,
    pub cells: u8,
    pub rest: Option<TextId>,
}

/// The value of one typed argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub column: SpanArgColumn,
    pub value: CellValue,
}

/// A value of a typed column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellValue {
    Int(i64),
    Float(f64),
    Text(TextId),
}

/// One end of an arrow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub track: TrackId,
    pub ts: i64,
    pub position: u64,
    pub phase: Phase,
    pub category: Option<TextId>,
    pub name: Option<TextId>,
    pub id: Option<i64>,
    pub id_text: Option<TextId>,
    /// Innermost span of the track at that time; filled in once the spans are sorted.
    pub span: Option<SpanId>,
}

/// A change of a counter.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub track: TrackId,
    pub ts: i64,
    pub position: u64,
    pub name: Option<TextId>,
    pub series: Option<TextId>,
    pub value: Option<f64>,
    pub args: Option<TextId>,
}

/// An allocation or a free.
#[derive(Clone, Debug)]
pub(crate) struct MemoryEvent {
    pub track: TrackId,
    pub ts: i64,
    pub position: u64,
    pub size_bytes: Option<i64>,
    pub address: Option<i64>,
    pub device_type: Option<i64>,
    pub device_id: Option<i64>,
    pub total_allocated_bytes: Option<i64>,
    pub total_reserved_bytes: Option<i64>,
    pub event_index: Option<i64>,
    pub args: Option<TextId>,
    /// Innermost operator of the thread at that time; filled in once the spans are sorted.
    pub operator: Option<SpanId>,
}
