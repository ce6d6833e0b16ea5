//! Where everything lies inside a store. Pure functions from names to paths; nothing here touches a disk.
//!
//! ```text
//! <root>/runs/<run>/sources/<rank>.<window>.json
//! <root>/runs/<run>/run.json
//! <root>/runs/<run>/skipped.json
//! <root>/runs/<run>/<table>/bucket=<rank div 128>/<rank>.<window>.parquet
//! <root>/runs/<run>/all_collectives/group=<hash of process group mod 64>/<rank>.<window>.parquet
//! ```
//! Names that begin with a dot are temporaries and belong to nobody.

use std::path::{Path, PathBuf};

use stepscope_model::{SourceId, Table};

/// Ranks whose files share a folder, so that no folder of a large run grows without limit.
pub const RANKS_PER_BUCKET: u32 = 128;

/// Folders that collectives are spread over: equal process groups meet in one folder, whatever the rank.
pub const COLLECTIVE_GROUPS: u64 = 64;

/// How every temporary begins.
pub(crate) const TEMPORARY_PREFIX: &str = ".tmp-";

/// Longest run name in bytes; file systems allow 255 per name.
const RUN_NAME_MAX: usize = 200;

/// The folder of all runs.
#[must_use]
pub fn runs_dir(root: &Path) -> PathBuf {
    root.join("runs")
}

/// The folder of a run. `run` may be any text; see [`run_folder_name`].
#[must_use]
pub fn run_dir(root: &Path, run: &str) -> PathBuf {
    runs_dir(root).join(run_folder_name(run))
}

/// The folder of a run's source records.
#[must_use]
pub fn sources_dir(root: &Path, run: &str) -> PathBuf {
    run_dir(root, run).join("sources")
}

/// The record of a source.
#[must_use]
pub fn source_file(root: &Path, run: &str, id: SourceId) -> PathBuf {
    sources_dir(root, run).join(file_name(id, "json"))
}

/// The summary of a run.
#[must_use]
pub fn summary_file(root: &Path, run: &str) -> PathBuf {
    run_dir(root, run).join("run.json")
}

/// The list of files that lie beside the traces of a run and were not read.
#[must_use]
pub fn skipped_file(root: &Path, run: &str) -> PathBuf {
    run_dir(root, run).join("skipped.json")
}

/// The file of a source in a table.
#[must_use]
pub fn table_file(root: &Path, run: &str, table: &Table, id: SourceId) -> PathBuf {
    let bucket = id.rank / RANKS_PER_BUCKET;
    run_dir(root, run).join(table.name).join(format!("bucket={bucket}")).join(file_name(id, "parquet"))
}

/// The file of a source in one partition of a table that is spread over folders by what is in a row.
#[must_use]
pub fn partition_file(root: &Path, run: &str, table: &Table, partition: u32, id: SourceId) -> PathBuf {
    run_dir(root, run).join(table.name).join(format!("group={partition}")).join(file_name(id, "parquet"))
}

/// The partition of the table `all_collectives` for the rows of a process group, and of those that share its hash.
#[must_use]
pub fn collectives_partition(process_group: &str) -> u32 {
    (stable_hash(process_group.as_bytes()) % COLLECTIVE_GROUPS) as u32
}

/// The number of a process group: the same on every rank, from its name and its ranks as recorded. What it does on the
/// host has another number than what it does on devices.
#[must_use]
pub fn process_group_id(name: Option<&str>, ranks: Option<&str>, is_host: bool) -> i64 {
    let place = if is_host { "\0host" } else { "" };
    let text = format!("{}\0{}{place}", name.unwrap_or_default(), ranks.unwrap_or_default());
    stable_hash(text.as_bytes()).cast_signed()
}

/// The folder name of a run: ASCII letters, digits, `.`, `_` and `-` stay, everything else becomes `_`. Never empty,
/// never beginning with a dot (so never `.` or `..`, and never taken for a temporary).
#[must_use]
pub fn run_folder_name(run: &str) -> String {
    let keep = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let mut name: String = run.chars().map(|letter| if keep(letter) { letter } else { '_' }).collect();
    if name.is_empty() {
        name.push('_');
    }
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    if name.len() > RUN_NAME_MAX {
        // The hash keeps apart long names that differ only behind the cut.
        let hash = format!("-{:016x}", stable_hash(run.as_bytes()));
        name.truncate(RUN_NAME_MAX - hash.len());
        name.push_str(&hash);
    }
    name
}

/// The source that a record or table file is about, from its name; `None` for names that are not of the layout.
#[must_use]
pub fn source_id_of(file_name: &str, extension: &str) -> Option<SourceId> {
    let stem = file_name.strip_suffix(extension)?.strip_suffix('.')?;
    let (rank, window) = stem.split_once('.')?;
    let id = SourceId { rank: rank.parse().ok()?, window: window.parse().ok()? };
    // Only the one spelling that Stepscope writes counts: `+1.00.json` is not a second record of (1, 0).
    (self::file_name(id, extension) == file_name).then_some(id)
}

fn file_name(id: SourceId, extension: &str) -> String {
    format!("{}.{}.{extension}", id.rank, id.window)
}

/// FNV-1a: part of the layout, so it must never change with a library or a compiler.
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
