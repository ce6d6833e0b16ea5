//! The packs of a run: which of them count, and what they say about themselves.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use stepscope_model::{SkippedFile, SourceId};
use stepscope_objects::{Bucket, Entry, ObjectError, Watch};

use crate::error::StoreError;
use crate::pack::{Depth, Pack, PackName, packs_folder};
use crate::table_part::shown;

/// Packs that are read at once. A read waits for the network, not for the processor.
const AT_ONCE: usize = 16;

/// What was found.
pub(super) struct Found {
    /// The packs that count with their keys, sorted by rank and window.
    pub(super) packs: Vec<(String, Pack)>,
    /// Those that cannot be used, and why.
    pub(super) skipped: Vec<SkippedFile>,
}

/// Lists the packs of a run and reads what each says about itself. `watch` hears the bytes that were read so far.
pub(super) fn find(bucket: &Bucket, run: &str, watch: Watch<'_>) -> Result<Found, StoreError> {
    let (chosen, mut skipped) = choose(bucket, bucket.list(&packs_folder(run), watch)?);
    let mut packs = Vec::new();
    for (entry, read) in read_all(bucket, chosen, watch)? {
        match read {
            Ok(pack) => packs.push((entry.key, pack)),
            // One pack that cannot be used is no reason to hide the others.
            Err(error @ (StoreError::CorruptPack { .. } | StoreError::WrongVersion { .. })) => {
                skipped.push(unusable(bucket, &entry, error.reason()));
            }
            // It went away since it was listed: it expired.
            Err(StoreError::Objects(ObjectError::NotFound { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    packs.sort_by_key(|(_, pack)| pack.record.id);
    Ok(Found { packs, skipped })
}

/// One pack per source: of one recording in two depths the deeper one. Two recordings that claim to be the same rank and
/// window are both left out, because nothing tells which is right.
fn choose(bucket: &Bucket, entries: Vec<Entry>) -> (Vec<Entry>, Vec<SkippedFile>) {
    let mut by_source: BTreeMap<SourceId, Vec<(PackName, Entry)>> = BTreeMap::new();
    for entry in entries {
        if let Some((_, name)) = PackName::parse(&entry.key) {
            by_source.entry(name.id).or_default().push((name, entry));
        }
    }
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    for (id, claims) in by_source {
        if claims.iter().any(|(name, _)| name.key != claims[0].0.key) {
            let what =
                format!("another recording of rank {}, window {} is there too; neither is used", id.rank, id.window);
            skipped.extend(claims.iter().map(|(_, entry)| unusable(bucket, entry, what.clone())));
            continue;
        }
        let deepest = claims.into_iter().max_by_key(|(name, _)| name.depth == Depth::Full);
        chosen.extend(deepest.map(|(_, entry)| entry));
    }
    (chosen, skipped)
}

/// A pack as it was listed, and what it says about itself.
type Listed = (Entry, Result<Pack, StoreError>);

/// Reads the end of each pack, several at once.
fn read_all(bucket: &Bucket, entries: Vec<Entry>, watch: Watch<'_>) -> Result<Vec<Listed>, StoreError> {
    let (next, done, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
    let results: Vec<Mutex<Option<Result<Pack, StoreError>>>> = entries.iter().map(|_| Mutex::default()).collect();
    let is_canceled = thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(entries.len()) {
            scope.spawn(|| {
                while let Some(place) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < entries.len())
                {
                    let pack = read(bucket, &entries[place], &bytes);
                    *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(pack);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut is_canceled = false;
        while done.load(Ordering::Relaxed) < entries.len() {
            thread::sleep(Duration::from_millis(1));
            if !is_canceled && watch(bytes.load(Ordering::Relaxed)) == ControlFlow::Break(()) {
                is_canceled = true;
                // What is being read comes to its end; nothing new begins.
                let begun = next.swap(entries.len(), Ordering::Relaxed).min(entries.len());
                done.fetch_add(entries.len() - begun, Ordering::Relaxed);
            }
        }
        is_canceled
    });
    if is_canceled {
        return Err(ObjectError::Canceled { at: bucket.place().to_string() }.into());
    }
    let read = results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(entries.into_iter().zip(read).collect())
}

fn read(bucket: &Bucket, entry: &Entry, bytes: &AtomicU64) -> Result<Pack, StoreError> {
    Pack::read(&shown(bucket, &entry.key), entry.size_bytes, |range| {
        bytes.fetch_add(range.end - range.start, Ordering::Relaxed);
        bucket.get_range(&entry.key, range).map_err(StoreError::from)
    })
}

fn unusable(bucket: &Bucket, entry: &Entry, what: String) -> SkippedFile {
    SkippedFile { path: shown(bucket, &entry.key).display().to_string(), what, is_unreadable: true }
}
