//! Sums of many sources in a few plain Parquet files, which a query about all ranks reads instead of packs.
//!
//! ```text
//! runs/<run>/blocks/<id>/<table>[/group=<g>]/<part>.parquet
//! runs/<run>/blocks/<id>.json                                 written after the files
//! ```
//! A block exists when a manifest names it. Its id is a hash of the names of its packs, and its bytes follow from them:
//! two writers that took the same packs write the same objects.

mod descriptor;
mod file_rows;
mod id;
mod sources;

use stepscope_model::Table;

use crate::layout;

pub use descriptor::{BlockFile, Descriptor, PackSet, read};
pub use file_rows::rows_of_file;
pub use id::BlockId;
pub use sources::{BlockPack, BlockSource, SOURCES, packs, source_rows, sources};

/// Version of the format.
pub const FORMAT: u32 = 1;

/// The folder of a run's blocks.
#[must_use]
pub fn folder(run: &str) -> String {
    format!("runs/{}/blocks", layout::run_folder_name(run))
}

/// The object that describes a block.
#[must_use]
pub fn descriptor_key(run: &str, id: BlockId) -> String {
    format!("{}/{id}.json", folder(run))
}

/// The object of a file of a block; `path` is as its descriptor says.
#[must_use]
pub fn file_key(run: &str, id: BlockId, path: &str) -> String {
    format!("{}/{id}/{path}", folder(run))
}

/// Where a part of a table is in its block.
#[must_use]
pub fn file_path(table: &Table, partition: Option<u32>, part: usize) -> String {
    match partition {
        Some(partition) => format!("{}/group={partition}/{part}.parquet", table.name),
        None => format!("{}/{part}.parquet", table.name),
    }
}

/// The block that an object belongs to, from its key; `None` for objects of no block.
#[must_use]
pub fn id_of(run: &str, object_key: &str) -> Option<BlockId> {
    let rest = object_key.strip_prefix(&folder(run))?.strip_prefix('/')?;
    let name = rest.split_once('/').map_or_else(|| rest.strip_suffix(".json"), |(name, _)| Some(name))?;
    name.parse().ok()
}
