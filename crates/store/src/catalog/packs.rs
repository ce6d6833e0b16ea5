//! Packs of a run: which of them count, and what they say about themselves.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_model::{SkippedFile, SourceId};
use stepscope_objects::{Bucket, ObjectError, Watch, parallel};

use crate::error::StoreError;
use crate::pack::{ListedPack, Pack, PackName};
use crate::table_part::shown;

/// One pack per source: of one recording in two depths the deeper one. Two recordings that claim to be the same rank and
/// window are both left out, because nothing tells which is right.
pub(super) fn choose(
    bucket: &Bucket,
    run: &str,
    listed: Vec<ListedPack>,
    skipped: &mut Vec<SkippedFile>,
) -> Vec<ListedPack> {
    let mut by_source: BTreeMap<SourceId, Vec<ListedPack>> = BTreeMap::new();
    for pack in listed {
        by_source.entry(pack.name.id).or_default().push(pack);
    }
    let mut chosen = Vec::new();
    for (id, claims) in by_source {
        if claims.iter().any(|claim| claim.name.key != claims[0].name.key) {
            skipped.extend(claims.iter().map(|claim| contradicted(bucket, &claim.name.object_key(run), id)));
        } else {
            chosen.extend(claims.into_iter().max_by_key(|claim| claim.name.depth));
        }
    }
    chosen
}

/// Reads what each pack says about itself, several at once; with their names. `watch` hears the bytes that were read so
/// far.
pub(super) fn read(
    bucket: &Bucket,
    run: &str,
    listed: Vec<ListedPack>,
    skipped: &mut Vec<SkippedFile>,
    watch: Watch<'_>,
) -> Result<Vec<(PackName, Pack)>, StoreError> {
    let bytes = AtomicU64::new(0);
    let go_on = || -> ControlFlow<()> { watch(bytes.load(Ordering::Relaxed)) };
    let read = parallel::watched(&listed, &go_on, |pack| {
        let key = pack.name.object_key(run);
        Pack::read(&shown(bucket, &key), pack.size_bytes, |range| {
            bytes.fetch_add(range.end - range.start, Ordering::Relaxed);
            bucket.get_range(&key, range).map_err(StoreError::from)
        })
    });
    let read = read.ok_or_else(|| ObjectError::Canceled { at: bucket.place().to_string() })?;
    let mut found = Vec::with_capacity(listed.len());
    for (name, pack) in listed.into_iter().map(|pack| pack.name).zip(read) {
        let refused = |what| unusable(bucket, &name.object_key(run), what);
        match pack {
            Ok(pack) if is_named_so(&pack, &name) => found.push((name, pack)),
            Ok(_) => skipped.push(refused("its name is that of another recording".to_owned())),
            // One pack that cannot be used is no reason to hide the others.
            Err(error @ (StoreError::CorruptPack { .. } | StoreError::WrongVersion { .. })) => {
                skipped.push(refused(error.reason()));
            }
            // It went away since it was listed: it expired.
            Err(StoreError::Objects(ObjectError::NotFound { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// A pack of which another recording claims the same rank and window.
pub(super) fn contradicted(bucket: &Bucket, key: &str, id: SourceId) -> SkippedFile {
    let SourceId { rank, window } = id;
    unusable(bucket, key, format!("another recording of rank {rank}, window {window} is there too; neither is used"))
}

/// A pack of which a block has another recording of the same rank and window. The next compaction sees to that.
pub(super) fn not_in_block(bucket: &Bucket, key: &str, id: SourceId) -> SkippedFile {
    let SourceId { rank, window } = id;
    unusable(
        bucket,
        key,
        format!("a block has another recording of rank {rank}, window {window}; this one is not used"),
    )
}

/// Whether a pack is the recording that its name says. Somebody may have copied or renamed it.
fn is_named_so(pack: &Pack, name: &PackName) -> bool {
    pack.record.id == name.id
}

fn unusable(bucket: &Bucket, key: &str, what: String) -> SkippedFile {
    SkippedFile { path: shown(bucket, key).display().to_string(), what, is_unreadable: true }
}
