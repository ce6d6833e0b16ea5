//! Makes manifest and blocks of a run again from its packs.
//!
//! Everything that packs give is made again and compared with what is there, byte by byte. Blocks whose packs are gone
//! stay as they are, as nothing else has their sums.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use stepscope_objects::{Bucket, UNWATCHED};
use stepscope_store::block::{self, BlockId};
use stepscope_store::manifest::{self, BlockEntry, Manifest};
use stepscope_store::pack::packs_folder;
use stepscope_store::{StoreError, layout};

use crate::compact::{
    ATTEMPTS, Change, CompactError, CompactOptions, Compaction, Compactor, OnProgress, Published, jitter, publish,
};

/// Makes manifest and blocks again from packs. Other compactors may go on meanwhile.
pub fn rebuild(
    bucket: &Bucket,
    run: &str,
    options: &CompactOptions,
    progress: OnProgress<'_>,
) -> Result<Compaction, CompactError> {
    let run = layout::run_folder_name(run);
    let options = CompactOptions { settle: std::time::Duration::ZERO, all: true, ..options.clone() };
    for attempt in 0..ATTEMPTS {
        // What was compared once is taken as it is, if another writer made this round void.
        if let Some(done) = rebuild_once(bucket, &run, &options, attempt == 0, progress)? {
            return Ok(done);
        }
        thread::sleep(jitter(attempt)?);
    }
    Err(CompactError::Contended { attempts: ATTEMPTS, run })
}

fn rebuild_once(
    bucket: &Bucket,
    run: &str,
    options: &CompactOptions,
    is_repair: bool,
    progress: OnProgress<'_>,
) -> Result<Option<Compaction>, CompactError> {
    let base = last_readable(bucket, run)?;
    let mut compactor = Compactor::new(bucket, run, options)?;
    compactor.is_repair = is_repair;
    let hours = bucket.folders(&packs_folder(run), UNWATCHED)?;
    let kept = irreplaceable(bucket, run, base.as_ref(), &mut compactor, &hours)?;
    let (made, mut outcome) = compactor.make_all(&kept, base.as_ref(), hours, progress)?;
    let is_there = |id: BlockId| kept.iter().chain(&made).any(|block| block.id == id);
    let old = base.as_ref().map_or(&[][..], |base| &base.blocks);
    let retire = old.iter().map(|block| block.id).filter(|id| !is_there(*id)).collect();
    let change = Change { add: made, retire, ..Change::default() };
    (outcome.added, outcome.retired) = (change.add.len() as u64, change.retire.len() as u64);
    outcome.merged = change.add.iter().map(|block| block.sources).sum();
    match publish(bucket, run, base.as_ref(), &change, options.now_ns())? {
        Published::Won(manifest) => {
            outcome.manifest = manifest.n;
            Ok(Some(outcome))
        }
        Published::Lost(_) => Ok(None),
    }
}

/// The newest manifest that can be read, with the number of the newest one.
fn last_readable(bucket: &Bucket, run: &str) -> Result<Option<Manifest>, CompactError> {
    let listed = bucket.list(&manifest::folder(run), UNWATCHED)?;
    let numbers: BTreeSet<u64> = listed.iter().filter_map(|entry| manifest::number_of(&entry.key)).collect();
    let last = numbers.last().copied().unwrap_or(0);
    for n in numbers.into_iter().rev() {
        match manifest::read(bucket, run, n) {
            Ok(Some(found)) => return Ok(Some(Manifest { n: last, ..found })),
            Ok(None) | Err(StoreError::CorruptObject { .. } | StoreError::WrongVersion { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((last > 0).then(|| Manifest {
        format: manifest::FORMAT,
        run: run.to_owned(),
        n: last,
        writer: String::new(),
        created_ns: 0,
        sealed_before_hour: "1970-01-01T00".to_owned(),
        expired_before_hour: None,
        blocks: Vec::new(),
        retired: Vec::new(),
    }))
}

/// The blocks of which packs are gone.
fn irreplaceable(
    bucket: &Bucket,
    run: &str,
    base: Option<&Manifest>,
    compactor: &mut Compactor,
    hours: &[String],
) -> Result<Vec<BlockEntry>, CompactError> {
    let Some(base) = base else { return Ok(Vec::new()) };
    let there: BTreeSet<u128> = compactor.keys_of(hours)?;
    let mut kept = BTreeMap::new();
    for entry in &base.blocks {
        let packs = block::read(bucket, run, entry.id)
            .and_then(|descriptor| block::packs(bucket, run, (entry.id, &descriptor)));
        let packs = match packs {
            Ok(packs) => packs,
            Err(StoreError::Objects(error)) if !error.is_not_found() => return Err(StoreError::Objects(error).into()),
            // What cannot be read is made again from what packs there are.
            Err(_) => continue,
        };
        if packs.iter().any(|pack| !there.contains(&pack.name.key)) {
            compactor.hold(entry.id, packs);
            kept.insert(entry.id, entry.clone());
        }
    }
    Ok(kept.into_values().collect())
}
