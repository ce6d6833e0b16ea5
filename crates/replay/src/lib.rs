//! What waited for what in the steps of a recording, which of it made the steps as long as they are, and how long they
//! would be with one thing changed.
//!
//! The design of answers defines everything; its sections are cited as A1 to A9. The way of an answer:
//!
//! - `read` takes what a window of steps needs from a store; `recording` is the plain data that it hands on, which
//!   tests make by hand. `window` says which steps.
//! - `host`, `handoff`, `device`, `cross`, `waits` and `queue` add nodes and edges to a `draft`: points in time, and why
//!   none of them can come earlier. `lags` says how long an edge usually takes.
//! - `graph` packs the draft into arrays. `path` walks it backward, `changes` gives its edges other lags, and a replay is
//!   one pass over it.
//! - `rank` puts together what one rank adds. `model` answers for one rank, and `job` for several that wait for each
//!   other at collectives. `saving` says what a change saves, and `reason` why nothing can be said. `document` is all of
//!   it as JSON.
//!
//! Nothing here prints, rounds or judges.

mod calls;
mod changes;
mod class;
mod cross;
mod device;
pub mod document;
mod draft;
mod fuse;
mod graph;
mod handoff;
mod host;
mod job;
mod lags;
mod model;
mod names;
mod notes;
mod path;
mod queue;
mod rank;
pub mod read;
pub mod reason;
pub mod recording;
mod saving;
mod selection;
mod steps;
mod streams;
mod waits;
mod window;

pub use changes::{Bound, Change, Gap};
pub use class::{EdgeKind, PathClass};
pub use job::{EqualRanks, JobModel, JobPath, JobStep};
pub use lags::TypicalLags;
pub use model::{Hold, Replayed, StepModel, StepPath};
pub use names::{NameId, NameSet, Names};
pub use notes::Notes;
pub use path::{Piece, PieceOf, PieceSubject};
pub use rank::RankFacts;
pub use saving::{Confidence, Saving};
pub use selection::Selection;
pub use window::{Step, WINDOW_STEPS, Window};
