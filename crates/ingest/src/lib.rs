//! Turns events into derived columns and writes them to a store.
//!
//! Everything that needs the whole order of a rank's events is worked out here, once: who encloses whom, which call
//! launched a kernel and for which operator, the steps, what is communication, forward and backward. A source is
//! ingested with no knowledge of other ranks.
//!
//! The way of a trace: `discover` finds files, `same_job` tells jobs apart and `run` decides ranks and windows. `source` drives one file: `collect`
//! turns events into records that a `sorter` brings into order, `pair` joins beginnings and ends. `derive` walks over
//! the spans once (`nest`, `points`) and joins what belongs together (`link`, `graph`, `forward`, `steps`, `health`);
//! `write` walks over them a second time, puts everything into tables and adds up what is asked for most (`rollups`,
//! `tiles`). A profile of functions has no times to derive from: `functions` takes it straight to its tables.
//!
//! Memory is bounded by a limit, not by the trace: whatever grows with the trace is in a `sorter`, a `late` column or
//! the bounded table of `strings`, and moves to files beside the store past the limit.

mod activity;
mod args;
mod breakdown;
mod categories;
mod collect;
mod collectives;
mod counts;
mod derive;
mod device_use;
mod discover;
mod error;
mod forward;
mod functions;
mod graph;
mod groups;
mod header;
mod health;
mod identity;
mod kernel_rollup;
mod lanes;
mod late;
mod launches;
mod link;
mod memory;
mod names;
mod nest;
mod op_rollup;
mod pair;
mod points;
mod record;
mod rollups;
mod row;
mod rows;
mod rules;
mod run;
mod run_file;
mod same_job;
mod scratch;
mod shift;
mod sorter;
mod source;
mod steps;
mod stream;
mod strings;
mod threads;
mod tiles;
mod tracks;
mod watch;
mod windows;
mod write;

pub use categories::KERNEL_CATEGORIES;
pub use collectives::bus_factor;
pub use discover::{FolderEntries, PathFound, RunPlan, plan};
pub use error::IngestError;
pub use memory::default_memory_limit_bytes;
pub use names::COMMUNICATION_NAMES;
pub use run::{Extras, Ingested, Options, Outcome, Progress, ingest};
