//! Readers of trace formats: bytes in, events or totals of functions out. And one writer: events in, a Chrome trace out.
//!
//! A format is one file with an `impl Format` and one line in `FORMATS`. Formats are recognized by content, never by
//! file name. Readers stream: they hold a bounded piece of the input, whatever its size.

mod chrome;
mod cprofile;
mod error;
mod event;
mod function;
mod inflate;
mod looks_like;
mod memory;
mod read_ahead;
mod registry;
mod segments;
mod sink;
mod snapshot;
mod spool;
mod track;
mod xplane;

pub use chrome::{ChromeEvent, ChromeWriter, JsonValue};
pub use error::FormatError;
pub use event::{Args, Event, LazyArgs, Time, Value};
pub use function::{CallerTotals, Function, FunctionTotals};
pub use looks_like::LooksLike;
pub use memory::{Frame, MemoryBlock, MemoryChange, MemorySegment};
pub use registry::{Confidence, FORMATS, Format, Limits, ReadSummary, read_trace};
pub use sink::{TraceSink, Warning};
pub use track::{Program, Track, TrackKind};
