//! Writes the next manifest, if nobody else was first.

use std::time::Duration;

use stepscope_objects::{Bucket, ObjectError, Put};
use stepscope_store::StoreError;
use stepscope_store::block::BlockId;
use stepscope_store::manifest::{self, BlockEntry, Manifest, RetiredBlock};

use super::error::CompactError;
use super::options::nanoseconds;

/// How long a retired block is kept for readers that hold an older manifest.
pub(crate) const GRACE: Duration = Duration::from_hours(24);

/// How long before its deletion a block is not taken back any more: clocks differ.
const LEAVING: Duration = Duration::from_hours(1);

/// Before the first hours are sealed.
const NOTHING_SEALED: &str = "1970-01-01T00";

/// What is different in the next manifest.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Blocks that are there now.
    pub(crate) add: Vec<BlockEntry>,
    /// Blocks that are not read any more, also such that no manifest names.
    pub(crate) retire: Vec<BlockId>,
    /// Retired blocks whose objects are deleted.
    pub(crate) forget: Vec<BlockId>,
    /// The hour before which nobody looks for packs any more.
    pub(crate) seal: Option<String>,
    /// The hour before which packs are deleted.
    pub(crate) expire: Option<String>,
}

/// What came of a manifest.
#[derive(Debug)]
pub(crate) enum Published {
    /// It is the newest one.
    Won(Manifest),
    /// Another one was first, and this is the newest now.
    Lost(Manifest),
}

impl Change {
    /// Adds a block in place of others.
    pub(crate) fn replace(&mut self, replaced: &[BlockId], entry: BlockEntry) {
        self.retire.extend(replaced.iter().filter(|id| **id != entry.id));
        self.add.push(entry);
    }

    fn next(&self, base: Option<&Manifest>, run: &str, now_ns: i64) -> Result<Manifest, CompactError> {
        let random = getrandom::u64().map_err(|error| CompactError::Random(error.to_string()))?;
        let is_added = |id: &BlockId| self.add.iter().any(|entry| entry.id == *id);
        let base_blocks = base.map_or(&[][..], |base| &base.blocks);
        let kept = base_blocks.iter().filter(|block| !self.retire.contains(&block.id) && !is_added(&block.id));
        let mut blocks: Vec<BlockEntry> = kept.chain(&self.add).cloned().collect();
        blocks.sort_by_key(|block| (block.windows, block.ranks, block.id));
        let delete_after_ns = now_ns.saturating_add(nanoseconds(GRACE));
        let before = base.map_or(&[][..], |base| &base.retired).iter();
        let before = before.filter(|block| !is_added(&block.id) && !self.forget.contains(&block.id)).cloned();
        let retired = self.retire.iter().filter(|id| !is_added(id)).map(|id| RetiredBlock { id: *id, delete_after_ns });
        let expired = base.and_then(|base| base.expired_before_hour.clone());
        let sealed = base.map_or(NOTHING_SEALED, |base| &base.sealed_before_hour);
        Ok(Manifest {
            format: manifest::FORMAT,
            run: run.to_owned(),
            n: base.map_or(0, |base| base.n) + 1,
            writer: format!("{random:016x}"),
            created_ns: now_ns,
            sealed_before_hour: self.seal.clone().unwrap_or_else(|| sealed.to_owned()),
            expired_before_hour: self.expire.clone().max(expired),
            blocks,
            retired: before.chain(retired).collect(),
        })
    }
}

/// Tries to write the next manifest. An answer that was lost may hide our own success, so the content decides who won.
pub(crate) fn publish(
    bucket: &Bucket,
    run: &str,
    base: Option<&Manifest>,
    change: &Change,
    now_ns: i64,
) -> Result<Published, CompactError> {
    let next = change.next(base, run, now_ns)?;
    let key = manifest::key(run, next.n);
    let corrupt = |reason: String| StoreError::CorruptObject { what: "manifest", reason, key: key.clone() };
    let mut bytes = serde_json::to_vec(&next).map_err(|error| corrupt(error.to_string()))?;
    bytes.push(b'\n');
    let is_ours = match bucket.put_new(&key, bytes) {
        Ok(Put::Created) => true,
        Ok(Put::Found) | Err(ObjectError::Taken { .. }) => {
            manifest::read(bucket, run, next.n)?.is_some_and(|found| found.writer == next.writer)
        }
        Err(error) => return Err(error.into()),
    };
    if !is_ours {
        let newest = manifest::read_newest(bucket, run)?;
        return newest.map(Published::Lost).ok_or_else(|| corrupt("it was there, and is gone".to_owned()).into());
    }
    // Only a hint: a reader that does not find it looks further.
    let _ = bucket.put(&manifest::latest_key(run), next.n.to_string());
    Ok(Published::Won(next))
}

/// Whether a block is retired, and may be being deleted.
pub(crate) fn is_leaving(retired: &[RetiredBlock], id: BlockId, now_ns: i64) -> bool {
    let limit_ns = now_ns.saturating_add(nanoseconds(LEAVING));
    retired.iter().any(|block| block.id == id && block.delete_after_ns <= limit_ns)
}
