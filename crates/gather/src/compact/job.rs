//! The making of one block: what it is made of, and where its files go.

use std::fs;

use stepscope_objects::{Bucket, UNWATCHED, parallel};
use stepscope_store::block::{self, BlockPack};
use stepscope_store::pack::PackName;

use super::error::CompactError;
use super::options::{CompactOptions, OnProgress};
use super::parts::PartFile;
use super::plan::Plan;
use super::read::Bad;

/// What is needed to make a block.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) bucket: &'a Bucket,
    pub(super) run: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) options: &'a CompactOptions,
    /// Whether to make a block again that is there.
    pub(super) is_repair: bool,
    pub(super) progress: OnProgress<'a>,
}

/// What is known of a block while it is made.
#[derive(Default)]
pub(super) struct Output {
    /// Files that are uploaded.
    pub(super) files: Vec<PartFile>,
    pub(super) packs: Vec<BlockPack>,
    pub(super) first_ns: Option<i64>,
    pub(super) last_ns: Option<i64>,
    pub(super) bad: Vec<(PackName, Bad)>,
}

impl Job<'_> {
    /// Uploads files, and removes them here.
    pub(super) fn upload(&self, files: Vec<PartFile>, output: &mut Output) -> Result<(), CompactError> {
        let Self { bucket, run, plan, is_repair, .. } = *self;
        parallel::each(&files, |part| {
            let key = block::file_key(run, plan.id, &part.file.path);
            if is_repair {
                remove_if_other(bucket, &key, part)?;
            }
            bucket.put_parts(&key, &part.local, UNWATCHED)?;
            fs::remove_file(&part.local).map_err(CompactError::io("remove a file", &part.local))
        })?;
        output.files.extend(files);
        Ok(())
    }
}

/// In a repair the content counts, not the size.
fn remove_if_other(bucket: &Bucket, key: &str, part: &PartFile) -> Result<(), CompactError> {
    let Some(there) = bucket.head(key)? else { return Ok(()) };
    let is_same = there.size_bytes == part.file.bytes && {
        let own = fs::read(&part.local).map_err(CompactError::io("read a file", &part.local))?;
        bucket.get(key, UNWATCHED)? == own
    };
    if !is_same {
        bucket.delete(key)?;
    }
    Ok(())
}
