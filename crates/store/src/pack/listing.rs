//! Lists the packs of some hours.

use stepscope_objects::{Bucket, ObjectError, UNWATCHED, parallel};

use super::name::{PackName, SHARDS, packs_folder};

/// Packs of an hour from which on its shards are listed side by side: a listing has 1,000 on a page.
const MANY_PACKS: usize = 4000;

/// A pack that was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPack {
    /// Its name.
    pub name: PackName,
    /// Its size.
    pub size_bytes: u64,
    /// When it was uploaded.
    pub modified_ns: i64,
}

/// The packs of some hours, sorted by name. `is_sharded` says whether to list each shard by itself, and is set to
/// whether that would have been right.
pub fn list_packs(
    bucket: &Bucket,
    run: &str,
    hours: &[String],
    is_sharded: &mut bool,
) -> Result<Vec<ListedPack>, ObjectError> {
    let folder = packs_folder(run);
    let shards = |hour: &String| (0..SHARDS).map(|shard| format!("{folder}/{hour}/{shard:x}")).collect();
    let whole = |hour: &String| vec![format!("{folder}/{hour}")];
    let prefixes: Vec<String> =
        hours.iter().flat_map(|hour| if *is_sharded { shards(hour) } else { whole(hour) }).collect();
    let found = parallel::each(&prefixes, |prefix| bucket.list(prefix, UNWATCHED))?;
    let entries = found.into_iter().flatten();
    // Other objects are nobody's packs, and in nobody's way.
    let packs = entries.filter_map(|entry| {
        let (_, name) = PackName::parse(&entry.key).filter(|(of, _)| of == run)?;
        Some(ListedPack { name, size_bytes: entry.size_bytes, modified_ns: entry.modified_ns })
    });
    let mut packs: Vec<ListedPack> = packs.collect();
    packs.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let most = packs.chunk_by(|a, b| a.name.hour == b.name.hour).map(<[_]>::len).max();
    *is_sharded = most.is_some_and(|most| most > MANY_PACKS);
    Ok(packs)
}
