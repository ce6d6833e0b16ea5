//! Writes the folder form of a run from its packs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use stepscope_model::SourceId;
use stepscope_objects::{Bucket, UNWATCHED, Watch};
use stepscope_store::pack::{Depth, ListedPack, Pack, is_hour, list_packs, packs_folder, unpack};
use stepscope_store::{Store, StoreError, layout};

use crate::compact::{CompactError, RefusedPack, go_on, in_one_depth, sort_out};

/// Packs up to this size are read with one request.
const WHOLE_BYTES: u64 = 256 << 20;

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// Sources that are in the store now.
    pub sources: u64,
    /// Those of them that have sums only.
    pub sums_only: u64,
    /// Packs that are not: of another version, broken, or in contradiction to others.
    pub refused: Vec<RefusedPack>,
}

/// Writes every source of a run into a store, in the folder form. Each becomes visible as a whole; one that is there is
/// replaced. `watch` hears the bytes of packs that were read so far.
pub fn export(bucket: &Bucket, run: &str, store: &Store, watch: Watch<'_>) -> Result<Export, CompactError> {
    let run = layout::run_folder_name(run);
    let mut hours = bucket.folders(&packs_folder(&run), UNWATCHED)?;
    hours.retain(|hour| is_hour(hour));
    let listed = list_packs(bucket, &run, &hours, &mut false)?;
    if listed.is_empty() {
        return Err(CompactError::NoPacks { run });
    }
    let mut keys: BTreeMap<SourceId, BTreeSet<u128>> = BTreeMap::new();
    for pack in &listed {
        keys.entry(pack.name.id).or_default().insert(pack.name.key);
    }
    let (mut done, mut bytes) = (Export::default(), 0);
    for pack in in_one_depth(&listed) {
        go_on(watch, bytes)?;
        bytes += pack.size_bytes;
        let SourceId { rank, window } = pack.name.id;
        if keys[&pack.name.id].len() > 1 {
            let reason = format!("another pack claims rank {rank}, window {window}");
            done.refused.push(RefusedPack::new(&run, &pack.name, &reason));
            continue;
        }
        match sort_out(export_pack(bucket, &run, store, pack))? {
            Ok(()) => {
                done.sources += 1;
                done.sums_only += u64::from(pack.name.depth == Depth::Sums);
            }
            Err(bad) => done.refused.push(RefusedPack::new(&run, &pack.name, &bad.to_string())),
        }
    }
    Ok(done)
}

fn export_pack(bucket: &Bucket, run: &str, store: &Store, pack: &ListedPack) -> Result<(), StoreError> {
    let key = pack.name.object_key(run);
    let whole = if pack.size_bytes <= WHOLE_BYTES { Some(bucket.get(&key, UNWATCHED)?) } else { None };
    let read = |range: Range<u64>| match &whole {
        Some(whole) => Ok(whole.slice(range.start as usize..range.end as usize)),
        None => Ok::<_, StoreError>(bucket.get_range(&key, range)?),
    };
    let size_bytes = whole.as_ref().map_or(pack.size_bytes, |whole| whole.len() as u64);
    let opened = Pack::read(Path::new(&key), size_bytes, read)?;
    unpack(store, run, &opened, read).map(drop)
}
