//! Regions and readings of a running program, cheap enough to leave on.
//!
//! ```text
//! threads ──rings──▶ drainer ──▶ sums of each name, last readings      (asked by the program itself)
//!                    sensors ──▶ segment ──▶ formats, like any trace   (asked by everybody else)
//! ```
//!
//! A thread that enters and leaves regions never waits: it reads the processor's clock and fills a ring of its own, and
//! what finds no place is counted. One thread of the recorder empties the rings. Memory is fixed: the rings, as many
//! names and readings as there may be, and one frame.

mod boundary;
pub mod clock;
mod collector;
mod drainer;
mod fork;
mod lock;
mod losses;
mod names;
mod open_regions;
mod output;
mod pending;
pub mod recording;
pub mod sensors;
mod thread;
mod totals;
mod watching;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use boundary::measure_boundaries;
pub use names::{NameId, Scope};
pub use thread::{enter_named, has_open_tasks, is_on, leave_named, name_thread, switch};
pub use totals::Totals;
pub use watching::{read_now, unwatch, watch};

/// What is known of each name of a scope, in the order in which they were first left.
#[must_use]
pub fn totals(scope: Scope) -> Vec<(Arc<str>, Totals)> {
    collector::with_collector(|collector| collector.totals(scope))
}

/// The outermost region that a scope left last; before there is one, the last one of those in it.
#[must_use]
pub fn last_outermost(scope: Scope) -> Option<Arc<str>> {
    collector::with_collector(|collector| collector.last_outermost(scope))
}

/// The readings of each series around a time: also the last one before it and the first one after it.
#[must_use]
pub fn readings_between(start_ns: i64, end_ns: i64) -> BTreeMap<Arc<str>, Vec<(i64, f64)>> {
    collector::with_collector(|collector| collector.readings(start_ns, end_ns))
}
