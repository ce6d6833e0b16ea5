//! Which blocks a run has: numbered objects, of which the newest is the whole truth.
//!
//! ```text
//! runs/<run>/manifest/<n>.json    n = 1, 2, 3…, each created once
//! runs/<run>/manifest/latest      a number, only a hint
//! ```
//! Whoever changes the blocks creates the next number. Of two writers one wins, and the other reads what it said.

mod read;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::block::BlockId;
use crate::layout;

pub use read::{read, read_newest};

/// Version of the format.
pub const FORMAT: u32 = 1;

/// Sources up to which all packs of a run are listed, also those of hours long ago.
const SMALL_RUN_SOURCES: u64 = 10_000;

/// Everything about the blocks of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the format.
    pub format: u32,
    /// Name of the run.
    pub run: String,
    /// Its number, from 1.
    pub n: u64,
    /// Random, so that a writer knows its own manifest again.
    pub writer: String,
    /// When it was written, since 1970.
    pub created_ns: i64,
    /// Packs of hours before this one are not looked for any more, such as `2026-11-16T04`.
    pub sealed_before_hour: String,
    /// Packs of hours before this one were deleted: of recordings that blocks have, sums alone are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_before_hour: Option<String>,
    /// The blocks, sorted by window, rank and id. A source is in one of them at most.
    pub blocks: Vec<BlockEntry>,
    /// Blocks that are not read any more, and go away later: a reader may still hold an older manifest.
    pub retired: Vec<RetiredBlock>,
}

/// A block, as far as one has to know to leave it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEntry {
    /// Its name.
    pub id: BlockId,
    /// First and last window.
    pub windows: (u32, u32),
    /// Least and largest rank.
    pub ranks: (u32, u32),
    /// Sources.
    pub sources: u64,
    /// Start of the first event; null when no source has events.
    pub first_ns: Option<i64>,
    /// End of the last event.
    pub last_ns: Option<i64>,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A block that is on its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredBlock {
    /// Its name.
    pub id: BlockId,
    /// From when on its objects may be deleted, since 1970.
    pub delete_after_ns: i64,
}

impl Manifest {
    /// The block of that name, if it is not retired.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&BlockEntry> {
        self.blocks.iter().find(|block| block.id == id)
    }

    /// How many sources its blocks hold.
    #[must_use]
    pub fn sources(&self) -> u64 {
        self.blocks.iter().map(|block| block.sources).sum()
    }

    /// Whether the run is so small that listing all of its packs costs little.
    #[must_use]
    pub fn is_of_small_run(&self) -> bool {
        self.sources() <= SMALL_RUN_SOURCES
    }

    /// What contradicts itself in it.
    fn problem(&self, run: &str, n: u64) -> Option<String> {
        let run = layout::run_folder_name(run);
        let ids: BTreeSet<BlockId> =
            self.blocks.iter().map(|block| block.id).chain(self.retired.iter().map(|block| block.id)).collect();
        if self.run != run {
            return Some(format!("it is for the run {:?}, expected {run:?}", self.run));
        }
        if self.n != n {
            return Some(format!("it has the number {}, expected {n}", self.n));
        }
        (ids.len() < self.blocks.len() + self.retired.len()).then(|| "it names a block twice".to_owned())
    }
}

/// The folder of a run's manifests.
#[must_use]
pub fn folder(run: &str) -> String {
    format!("runs/{}/manifest", layout::run_folder_name(run))
}

/// The object of a manifest.
#[must_use]
pub fn key(run: &str, n: u64) -> String {
    format!("{}/{n}.json", folder(run))
}

/// The object with the number of the newest manifest, as somebody once knew it.
#[must_use]
pub fn latest_key(run: &str) -> String {
    format!("{}/latest", folder(run))
}

/// The number of a manifest, from its key; `None` for other objects.
#[must_use]
pub fn number_of(object_key: &str) -> Option<u64> {
    let (_, file) = object_key.rsplit_once('/')?;
    let text = file.strip_suffix(".json")?;
    let n: u64 = text.parse().ok()?;
    (n > 0 && n.to_string() == text).then_some(n)
}
