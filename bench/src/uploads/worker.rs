//! One of the processes that keep and upload sources, and that may be killed at any point.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use stepscope_gather::{Spool, UploadWatch, Uploader};
use stepscope_model::SourceId;
use stepscope_objects::{Place, Settings};
use stepscope_store::Store;
use stepscope_store::pack::Depth;

use super::RUN;

/// Which sources a process is to keep, and where.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// The store that holds them.
    pub(crate) store: PathBuf,
    /// The spool that all processes share.
    pub(crate) spool: PathBuf,
    /// Folder with a file for each source that was kept.
    pub(crate) acknowledged: PathBuf,
    /// Where packs go.
    pub(crate) place: String,
    /// The first rank.
    pub(crate) first: u32,
    /// How many ranks further the next one is.
    pub(crate) stride: u32,
    /// The first rank that is not there.
    pub(crate) end: u32,
}

/// Keeps and uploads a share. Goes on where a process that was killed stopped.
pub(crate) fn work(share: &Share) -> Result<()> {
    let unseen: UploadWatch<'_> = &|_| ControlFlow::Continue(());
    let (store, place) = (Store::open(&share.store)?, Place::parse(&share.place)?);
    let spool = Spool::at(&share.spool, u64::MAX);
    let mut uploader = Uploader::new(&spool, settings());
    for rank in (share.first..share.end).step_by(share.stride as usize) {
        let mark = acknowledgment(&share.acknowledged, rank);
        if mark.exists() {
            continue;
        }
        let record = store.source(RUN, SourceId { rank, window: 0 })?.context("a source is not there")?;
        spool.keep(&store, &record, Depth::Full, &place)?;
        // From here on the trace could be deleted.
        File::create(&mark)?;
        uploader.upload(unseen)?;
    }
    while spool.state()?.packs > 0 || hold(&share.acknowledged).exists() {
        uploader.upload(unseen)?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The file that says that a source was kept.
pub(super) fn acknowledgment(folder: &Path, rank: u32) -> PathBuf {
    folder.join(rank.to_string())
}

/// A file that keeps processes from ending while there is one to be killed.
pub(super) fn hold(acknowledged: &Path) -> PathBuf {
    acknowledged.with_extension("hold")
}

/// Short waits: what takes minutes between machines takes milliseconds here.
fn settings() -> Settings {
    Settings {
        first_wait: Duration::from_millis(5),
        request_timeout: Duration::from_millis(800),
        retry_for: Duration::from_secs(20),
        ..Settings::from_env()
    }
}
