//! Where a pack is. Its directory is read when somebody asks for its rows.

use std::sync::{Arc, Mutex, PoisonError};

use stepscope_model::Table;
use stepscope_objects::{Bucket, ObjectError, Part};

use crate::block::BlockPack;
use crate::error::StoreError;
use crate::pack::{Depth, Pack, PackName};
use crate::table_part::{TablePart, shown};

/// A pack, and what is known of it.
#[derive(Debug)]
pub(super) struct PackPlace {
    run: Arc<str>,
    name: PackName,
    size_bytes: u64,
    /// Whether the bucket has its events.
    pub(super) has_events: bool,
    read: Mutex<Option<Box<Pack>>>,
}

impl PackPlace {
    /// A pack that was read already.
    pub(super) fn read(run: &Arc<str>, name: PackName, pack: Pack) -> Self {
        let (size_bytes, has_events) = (pack.size_bytes, pack.depth() == Depth::Full);
        Self { run: Arc::clone(run), name, size_bytes, has_events, read: Mutex::new(Some(Box::new(pack))) }
    }

    /// A pack that a block names. Those of hours before `expired_before` are deleted.
    pub(super) fn named(run: &Arc<str>, pack: BlockPack, expired_before: Option<&str>) -> Self {
        let is_expired = expired_before.is_some_and(|first| pack.name.hour.as_str() < first);
        Self {
            run: Arc::clone(run),
            size_bytes: pack.size_bytes,
            has_events: pack.name.depth == Depth::Full && !is_expired,
            name: pack.name,
            read: Mutex::default(),
        }
    }

    /// Where its rows of a table are.
    pub(super) fn parts(&self, bucket: &Bucket, table: &Table) -> Result<Vec<TablePart>, StoreError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let pack = match read.take() {
            Some(pack) => pack,
            None => Box::new(self.fetch(bucket)?),
        };
        let key = self.key();
        let part = |range| TablePart::part(Part { key: key.clone(), range });
        let parts = pack.members_of(table).map(|member| part(member.range())).collect();
        *read = Some(pack);
        Ok(parts)
    }

    /// Few packs of a fleet are ever asked for theirs.
    fn key(&self) -> String {
        self.name.object_key(&self.run)
    }

    fn fetch(&self, bucket: &Bucket) -> Result<Pack, StoreError> {
        let key = self.key();
        let path = shown(bucket, &key);
        let range = |range| bucket.get_range(&key, range).map_err(StoreError::from);
        Pack::read(&path, self.size_bytes, range).map_err(|error| match error {
            StoreError::Objects(ObjectError::NotFound { .. }) => StoreError::PackGone { path },
            error => error,
        })
    }
}
