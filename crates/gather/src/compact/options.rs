//! How to compact, and how to follow it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How to compact.
#[derive(Clone, Debug)]
pub struct CompactOptions {
    /// How long after its newest pack a window is merged even though ranks are missing. Zero merges what is there.
    pub settle: Duration,
    /// Lists every hour, also those that are sealed, and makes blocks of another version again.
    pub all: bool,
    /// This is the only compactor, so the object store need not keep to conditions.
    pub single_writer: bool,
    /// About how much memory to use. Below 2 GiB packs are read several times; the bytes of blocks do not depend on it.
    pub memory_limit_bytes: u64,
    /// Folder for files on their way; the system's if not given.
    pub scratch: Option<PathBuf>,
    /// The time since 1970; the system's if not given.
    pub now_ns: Option<i64>,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            settle: Duration::from_mins(15),
            all: false,
            single_writer: false,
            memory_limit_bytes: 2 << 30,
            scratch: None,
            now_ns: None,
        }
    }
}

impl CompactOptions {
    pub(crate) fn now_ns(&self) -> i64 {
        self.now_ns.unwrap_or_else(system_ns)
    }

    pub(crate) fn settle_ns(&self) -> i64 {
        nanoseconds(self.settle)
    }

    pub(crate) fn scratch_dir(&self) -> PathBuf {
        self.scratch.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// What a compactor has just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It listed packs, so many in this round.
    Listed {
        /// Packs so far.
        packs: u64,
    },
    /// It merged a source into a block.
    Merged {
        /// Window of the block.
        window: u32,
        /// Sources so far.
        sources: u64,
        /// Sources of the block.
        of: u64,
    },
    /// It wrote a manifest.
    Published {
        /// Its number.
        manifest: u64,
    },
}

/// Gets what happens, on the caller's thread. `Break` ends the round; what is published stays.
pub type OnProgress<'a> = &'a dyn Fn(&Progress) -> ControlFlow<()>;

/// For rounds that are not followed.
pub const QUIET: OnProgress<'static> = &|_| ControlFlow::Continue(());

/// The time since 1970.
pub(crate) fn system_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds)
}

/// A time as a number.
pub(crate) fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
