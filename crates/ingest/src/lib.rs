//! Turns events into derived columns and writes them to a store.
//!
//! Everything that needs the whole order of a rank's events is worked out here, once: who encloses whom, which call
//! launched a kernel and for which operator, the steps, what is communication, forward and backward. A source is
//! ingested with no knowledge of other ranks.
//!
//! The way of a trace: `discover` finds files, `run` decides ranks and windows, `source` drives one file through
//! `collect` (events to records), `pair` (beginnings and ends), `order`, `nest`, `points`, `link`, `forward`, `steps`
//! and `health`, and `write` puts the result into tables.

mod args;
mod collect;
mod counts;
mod derived;
mod discover;
mod error;
mod forward;
mod header;
mod health;
mod identity;
mod link;
mod names;
mod nest;
mod order;
mod pair;
mod points;
mod record;
mod rows;
mod run;
mod source;
mod steps;
mod strings;
mod tracks;
mod write;

pub use error::IngestError;
pub use names::COMMUNICATION_NAMES;
pub use run::{Ingested, Options, Progress, ingest};
