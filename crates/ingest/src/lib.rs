//! Turns events into derived columns and writes them to a store.
//!
//! Everything that needs the whole order of a rank's events is worked out here, once: who encloses whom, which call
//! launched a kernel and for which operator, the steps, what is communication, forward and backward. A source is
//! ingested with no knowledge of other ranks.
//!
//! The way of a trace, one folder a stage:
//!
//! - `runs` finds files, tells jobs apart and decides runs, ranks and windows. `source` drives a file through the rest.
//! - `collect` turns events into records that are sorted, and pairs beginnings and ends.
//! - `derive` walks over the spans once and joins what belongs together: who encloses whom, launches, graphs, forward
//!   and backward, steps, health.
//! - `write` walks over them a second time, puts everything into tables and adds up what is asked for most. A profile
//!   of functions has no times to derive from: it goes straight to its tables.
//! - `spill` bounds the memory by a limit, not by the trace: whatever grows with a trace is in a sorter, a late column
//!   or the table of texts, and moves to files beside the store past the limit.

mod collect;
mod derive;
mod error;
mod runs;
mod source;
mod spill;
mod threads;
mod trace_file;
mod watch;
mod write;

pub use collect::categories::KERNEL_CATEGORIES;
pub use collect::names::COMMUNICATION_NAMES;
pub use error::IngestError;
pub use runs::discover::{FolderEntries, PathFound, RunPlan, plan};
pub use runs::{Extras, Ingested, Options, Outcome, Progress, Windows, ingest};
pub use spill::memory::default_memory_limit_bytes;
pub use write::collectives::bus_factor;
