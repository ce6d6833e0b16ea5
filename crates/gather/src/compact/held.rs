//! Which packs blocks hold. Blocks never change, so each is read once.

use std::collections::BTreeMap;

use stepscope_objects::{Bucket, parallel};
use stepscope_store::StoreError;
use stepscope_store::block::{self, BlockId, BlockPack};
use stepscope_store::manifest::BlockEntry;
use stepscope_store::pack::PackName;

use super::error::CompactError;

/// The packs of blocks that were read.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// `None` for a block of another version.
    blocks: BTreeMap<BlockId, Option<Vec<BlockPack>>>,
}

/// A block and its packs.
pub(crate) type HeldBlock<'h> = (BlockId, &'h [BlockPack]);

impl Held {
    /// Reads the blocks that are not known yet.
    pub(crate) fn load<'b>(
        &mut self,
        bucket: &Bucket,
        run: &str,
        blocks: impl Iterator<Item = &'b BlockEntry>,
    ) -> Result<(), CompactError> {
        let unknown: Vec<BlockId> = blocks.map(|block| block.id).filter(|id| !self.blocks.contains_key(id)).collect();
        let found = parallel::each(&unknown, |id| read(bucket, run, *id))?;
        self.blocks.extend(unknown.into_iter().zip(found));
        Ok(())
    }

    /// Notes a block that was made here.
    pub(crate) fn insert(&mut self, id: BlockId, packs: Vec<BlockPack>) {
        self.blocks.insert(id, Some(packs));
    }

    /// Those of some blocks that are known, and can be read.
    pub(crate) fn of(&self, live: &[BlockEntry]) -> Vec<HeldBlock<'_>> {
        let known = |block: &BlockEntry| Some((block.id, self.blocks.get(&block.id)?.as_deref()?));
        live.iter().filter_map(known).collect()
    }

    /// Those of some blocks that are known to be of another version.
    pub(crate) fn stale(&self, live: &[BlockEntry]) -> Vec<BlockId> {
        let is_stale = |id: &BlockId| matches!(self.blocks.get(id), Some(None));
        live.iter().map(|block| block.id).filter(is_stale).collect()
    }

    /// Whether a block is known to hold a pack.
    pub(crate) fn has(&self, id: BlockId, name: &PackName) -> bool {
        let packs = self.blocks.get(&id).and_then(Option::as_deref).unwrap_or_default();
        packs.iter().any(|pack| pack.name == *name)
    }
}

/// The packs of a block; `None` if it is of another version.
fn read(bucket: &Bucket, run: &str, id: BlockId) -> Result<Option<Vec<BlockPack>>, CompactError> {
    let packs =
        block::read(bucket, run, id).and_then(|descriptor| block::packs(bucket, run, (id, &descriptor)).map(Some));
    match packs {
        Err(StoreError::WrongVersion { .. }) => Ok(None),
        Err(error) if error.is_not_found() => Err(CompactError::BlockGone { key: block::descriptor_key(run, id) }),
        outcome => Ok(outcome?),
    }
}
