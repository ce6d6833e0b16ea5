//! Checks a run: every byte of its packs, and whether its blocks are what the manifest and the packs say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_model::SourceId;
use stepscope_objects::{Bucket, ObjectError, UNWATCHED, Watch, parallel};
use stepscope_store::block::{self, BlockId, BlockPack};
use stepscope_store::manifest::{self, BlockEntry, Manifest};
use stepscope_store::pack::{ListedPack, Pack, is_hour, list_packs, packs_folder};
use stepscope_store::{StoreError, layout};

use crate::compact::{CompactError, RefusedPack, go_on};

/// Packs up to this size are read with one request.
const WHOLE_BYTES: u64 = 64 << 20;

/// What was checked, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Number of the newest manifest; 0 if there is none.
    pub manifest: u64,
    /// Packs whose bytes were read.
    pub packs: u64,
    /// Their bytes.
    pub pack_bytes: u64,
    /// Packs that no block has.
    pub unmerged: u64,
    /// Packs of another version.
    pub refused: Vec<RefusedPack>,
    /// Live blocks.
    pub blocks: u64,
    /// Files of live blocks.
    pub files: u64,
    /// Sources of live blocks.
    pub sources: u64,
    /// Sources of live blocks whose pack is gone: only their sums are left.
    pub without_pack: u64,
    /// What is wrong, one sentence each.
    pub problems: Vec<String>,
}

/// Checks a run. `watch` hears the bytes of packs that were read so far.
pub fn verify(bucket: &Bucket, run: &str, watch: Watch<'_>) -> Result<Verification, CompactError> {
    let run = layout::run_folder_name(run);
    let mut found = Verification::default();
    let newest = check_manifests(bucket, &run, &mut found)?;
    let mut merged = BTreeMap::new();
    if let Some(newest) = &newest {
        for entry in &newest.blocks {
            go_on(watch, 0)?;
            let packs = check_block(bucket, &run, entry, &mut found)?;
            note_sources(entry.id, packs, &mut merged, &mut found);
        }
    }
    let mut hours = bucket.folders(&packs_folder(&run), UNWATCHED)?;
    hours.retain(|hour| is_hour(hour));
    let (mut is_sharded, mut there) = (false, BTreeSet::new());
    for hour in hours {
        let listed = list_packs(bucket, &run, &[hour], &mut is_sharded)?;
        check_packs(bucket, &run, &listed, watch, &mut found)?;
        found.unmerged +=
            listed.iter().filter(|pack| !merged.contains_key(&(pack.name.id, pack.name.key))).count() as u64;
        there.extend(listed.into_iter().map(|pack| pack.name.key));
    }
    found.without_pack = merged.keys().filter(|(_, key)| !there.contains(key)).count() as u64;
    Ok(found)
}

/// Manifests have no gaps, and the newest can be read.
fn check_manifests(bucket: &Bucket, run: &str, found: &mut Verification) -> Result<Option<Manifest>, CompactError> {
    let listed = bucket.list(&manifest::folder(run), UNWATCHED)?;
    let numbers: BTreeSet<u64> = listed.iter().filter_map(|entry| manifest::number_of(&entry.key)).collect();
    let last = numbers.last().copied().unwrap_or(0);
    for n in (1..=last).filter(|n| !numbers.contains(n)) {
        found.problems.push(format!("a manifest is missing: {}", manifest::key(run, n)));
    }
    match manifest::read_newest(bucket, run) {
        Ok(newest) => {
            found.manifest = newest.as_ref().map_or(0, |newest| newest.n);
            Ok(newest)
        }
        Err(error) => said(error, found).map(|()| None),
    }
}

/// The files of a block are there, with their sizes and rows. Gives its packs.
fn check_block(
    bucket: &Bucket,
    run: &str,
    entry: &BlockEntry,
    found: &mut Verification,
) -> Result<Vec<BlockPack>, CompactError> {
    found.blocks += 1;
    let key = block::descriptor_key(run, entry.id);
    let descriptor = match block::read(bucket, run, entry.id) {
        Ok(descriptor) => descriptor,
        Err(error) => return said(error, found).map(|()| Vec::new()),
    };
    let files: Vec<_> = descriptor.tables.values().flatten().collect();
    let problems = parallel::each(&files, |file| {
        let key = block::file_key(run, entry.id, &file.path);
        match block::rows_of_file(bucket, &key, file.bytes) {
            Ok(rows) if rows == file.rows => Ok(None),
            Ok(rows) => Ok(Some(format!("found {rows} rows, expected {}: {key}", file.rows))),
            Err(error) => in_words(error).map(Some),
        }
    })?;
    found.files += files.len() as u64;
    found.problems.extend(problems.into_iter().flatten());
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    if bytes != entry.bytes {
        found.problems.push(format!("found {bytes} bytes of files, expected {}: {key}", entry.bytes));
    }
    let packs = match block::packs(bucket, run, (entry.id, &descriptor)) {
        Ok(packs) => packs,
        Err(error) => return said(error, found).map(|()| Vec::new()),
    };
    let count = packs.len() as u64;
    if count != entry.sources || count != descriptor.packs.count {
        found.problems.push(format!("found {count} sources, expected {}: {key}", entry.sources));
    }
    if BlockId::of(run, packs.iter().map(|pack| &pack.name)) != entry.id {
        found.problems.push(format!("its sources are those of another block: {key}"));
    }
    Ok(packs)
}

/// Every source is in one block, and those that contradict each other in the same one, marked.
fn note_sources(
    id: BlockId,
    packs: Vec<BlockPack>,
    merged: &mut BTreeMap<(SourceId, u128), BlockId>,
    found: &mut Verification,
) {
    found.sources += packs.len() as u64;
    let mut claims: BTreeMap<SourceId, u64> = BTreeMap::new();
    for pack in &packs {
        *claims.entry(pack.name.id).or_default() += 1;
    }
    for pack in packs {
        let SourceId { rank, window } = pack.name.id;
        let same = merged.range((pack.name.id, 0)..=(pack.name.id, u128::MAX)).find(|(_, other)| **other != id);
        if let Some((_, other)) = same {
            found.problems.push(format!("rank {rank}, window {window} is in two blocks: {other}, {id}"));
        }
        if pack.is_conflict != (claims[&pack.name.id] > 1) {
            found.problems.push(format!("rank {rank}, window {window} is marked wrongly as a conflict: {id}"));
        }
        merged.insert((pack.name.id, pack.name.key), id);
    }
}

fn check_packs(
    bucket: &Bucket,
    run: &str,
    listed: &[ListedPack],
    watch: Watch<'_>,
    found: &mut Verification,
) -> Result<(), CompactError> {
    let bytes = AtomicU64::new(found.pack_bytes);
    let failure = OnceLock::new();
    let hear = || if failure.get().is_some() { ControlFlow::Break(()) } else { watch(bytes.load(Ordering::Relaxed)) };
    let outcomes = parallel::watched(listed, &hear, |pack| {
        let key = pack.name.object_key(run);
        let outcome = check_pack(bucket, &key, pack.size_bytes);
        bytes.fetch_add(pack.size_bytes, Ordering::Relaxed);
        match outcome {
            Ok(_) => None,
            // It was deleted since it was listed.
            Err(error) if error.is_not_found() => None,
            Err(error @ StoreError::WrongVersion { .. }) => Some((true, error.to_string())),
            Err(error) => match in_words(error) {
                Ok(words) => Some((false, words)),
                Err(error) => {
                    // One is enough to end the check.
                    let _ = failure.set(error);
                    None
                }
            },
        }
    });
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    for (pack, outcome) in listed.iter().zip(outcomes.ok_or(CompactError::Canceled)?) {
        found.packs += 1;
        found.pack_bytes += pack.size_bytes;
        match outcome {
            None => {}
            Some((true, reason)) => found.refused.push(RefusedPack::new(run, &pack.name, &reason)),
            Some((false, problem)) => found.problems.push(problem),
        }
    }
    Ok(())
}

fn check_pack(bucket: &Bucket, key: &str, size_bytes: u64) -> Result<Pack, StoreError> {
    if size_bytes > WHOLE_BYTES {
        return Pack::verify_with(Path::new(key), size_bytes, |range| {
            Ok::<_, StoreError>(bucket.get_range(key, range)?)
        });
    }
    let whole = bucket.get(key, UNWATCHED)?;
    let part = |range: Range<u64>| Ok::<_, StoreError>(whole.slice(range.start as usize..range.end as usize));
    Pack::verify_with(Path::new(key), whole.len() as u64, part)
}

/// Notes what is wrong with an object. What is wrong with the way to it ends the check.
fn said(error: StoreError, found: &mut Verification) -> Result<(), CompactError> {
    found.problems.push(in_words(error)?);
    Ok(())
}

fn in_words(error: StoreError) -> Result<String, CompactError> {
    match &error {
        StoreError::Objects(ObjectError::NotFound { .. } | ObjectError::Short { .. }) => Ok(error.to_string()),
        StoreError::Objects(_) | StoreError::Io { .. } => Err(error.into()),
        _ => Ok(error.to_string()),
    }
}
