//! The blocks of a run: where the sums of many sources are.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_model::{SkippedFile, SourceId, Table};
use stepscope_objects::{Bucket, ObjectError, Part, Watch, parallel};

use crate::block::{self, BlockFile, BlockId, BlockSource, Descriptor};
use crate::error::StoreError;
use crate::manifest::BlockEntry;
use crate::table_part::{TablePart, shown};

/// A block, with what it holds.
#[derive(Debug)]
pub(super) struct Block {
    id: BlockId,
    descriptor: Descriptor,
}

/// Blocks and the sources of each, in the same order.
#[derive(Default)]
pub(super) struct OpenedBlocks {
    pub(super) blocks: Vec<Block>,
    pub(super) sources: Vec<Vec<BlockSource>>,
    /// Those that cannot be used, and why.
    pub(super) skipped: Vec<SkippedFile>,
}

impl Block {
    /// Where the rows of a table are that can be of these sources.
    pub(super) fn parts(&self, run: &str, table: &Table, ids: &[SourceId]) -> Vec<TablePart> {
        let Some((ranks, windows)) = ranges(ids) else { return Vec::new() };
        let part = |file: &BlockFile| Part { key: block::file_key(run, self.id, &file.path), range: 0..file.bytes };
        let files = self.descriptor.files(table.name, &ranks, &windows);
        files.map(|file| TablePart::part(part(file))).collect()
    }
}

/// Reads what blocks hold: two rounds of requests, however many there are.
pub(super) fn read(
    bucket: &Bucket,
    run: &str,
    entries: &[&BlockEntry],
    watch: Watch<'_>,
) -> Result<OpenedBlocks, StoreError> {
    let bytes = AtomicU64::new(0);
    let go_on = || -> ControlFlow<()> { watch(bytes.load(Ordering::Relaxed)) };
    let read = parallel::watched(entries, &go_on, |entry| {
        let descriptor = block::read(bucket, run, entry.id)?;
        let sources = block::sources(bucket, run, (entry.id, &descriptor), &(0..=u32::MAX), &(0..=u32::MAX))?;
        let files = descriptor.tables.get(block::SOURCES.name).into_iter().flatten();
        bytes.fetch_add(files.map(|file| file.bytes).sum(), Ordering::Relaxed);
        Ok((Block { id: entry.id, descriptor }, sources))
    });
    let read = read.ok_or_else(|| ObjectError::Canceled { at: bucket.place().to_string() })?;
    let mut found = OpenedBlocks::default();
    for (entry, block) in entries.iter().zip(read) {
        match block {
            Ok((block, sources)) => {
                found.blocks.push(block);
                found.sources.push(sources);
            }
            // Its packs may be there: those that are listed count instead of it.
            Err(error @ (StoreError::WrongVersion { .. } | StoreError::CorruptObject { .. })) => {
                let path = shown(bucket, &block::descriptor_key(run, entry.id)).display().to_string();
                found.skipped.push(SkippedFile { path, what: error.reason(), is_unreadable: true });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The least ranges that hold the ranks and windows of some sources.
fn ranges(ids: &[SourceId]) -> Option<(RangeInclusive<u32>, RangeInclusive<u32>)> {
    let range = |number: fn(&SourceId) -> u32| {
        let least = ids.iter().map(number).min()?;
        Some(least..=ids.iter().map(number).max()?)
    };
    range(|id| id.rank).zip(range(|id| id.window))
}
