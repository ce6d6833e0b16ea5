//! What a round has done, and what it is about to do.

use std::collections::BTreeMap;

use stepscope_store::block::BlockId;
use stepscope_store::manifest::{BlockEntry, Manifest};
use stepscope_store::pack::NO_HOUR;

use super::outcome::Compaction;
use super::plan::{Plan, Window};

/// What a round has done so far.
#[derive(Default)]
pub(super) struct Round {
    pub(super) base: Option<Manifest>,
    pub(super) built: BTreeMap<BlockId, BlockEntry>,
    pub(super) outcome: Compaction,
    /// The first hour with a pack that waits for others of its window.
    pub(super) pending_hour: Option<String>,
}

impl Round {
    pub(super) fn wait_for(&mut self, waiting: Waiting) {
        self.outcome.pending += waiting.packs;
        self.pending_hour = self.pending_hour.take().into_iter().chain(waiting.hour).min();
    }
}

/// What a compactor is about to do.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) plans: Vec<Plan>,
    /// Blocks of another version.
    pub(super) stale: Vec<BlockId>,
    pub(super) waiting: Waiting,
}

/// Packs that are not merged yet.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) packs: u64,
    /// The first hour of one.
    pub(super) hour: Option<String>,
}

impl Planned {
    pub(super) fn wait_for(&mut self, window: &Window) {
        self.waiting.packs += window.new.len() as u64;
        let hours = window.new.iter().map(|pack| &pack.name.hour).filter(|hour| *hour != NO_HOUR);
        self.waiting.hour = self.waiting.hour.take().into_iter().chain(hours.min().cloned()).min();
    }
}
