//! A reader that asks again and again while blocks come and go, and checks every answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope_model::tables::STEPS;
use stepscope_objects::{Bucket, UNWATCHED};
use stepscope_store::block::{self, BlockPack};
use stepscope_store::manifest::{self, Manifest};
use stepscope_store::{StoreError, TableRows};
use stepscope_testkit::Random;

use super::RUN;

/// What readers saw.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) count: u64,
    pub(super) rows: u64,
    pub(super) problems: Vec<String>,
}

impl Readings {
    /// What several readers saw.
    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.problems.extend(other.problems);
    }
}

/// Asks about one window after the other until it is over. A manifest whose blocks are gone is read again, once.
pub(super) fn read(bucket: &Bucket, is_over: &AtomicBool, seed: u64) -> Readings {
    let (mut readings, mut random) = (Readings::default(), Random::new(seed));
    let mut most: BTreeMap<u32, usize> = BTreeMap::new();
    while !is_over.load(Ordering::Relaxed) {
        let choice = random.below(usize::MAX);
        let mut answer = ask(bucket, choice);
        if matches!(&answer, Err(error) if error.is_not_found()) {
            answer = ask(bucket, choice);
        }
        match answer {
            Ok(None) => {}
            Ok(Some(answer)) => {
                readings.count += 1;
                readings.rows += answer.rows;
                readings.problems.extend(answer.problem);
                // Sources come and never go.
                let before = most.insert(answer.window, answer.sources).unwrap_or(0);
                if answer.sources < before {
                    let (window, found) = (answer.window, answer.sources);
                    readings.problems.push(format!("found {found} sources of window {window} after {before}"));
                }
            }
            Err(error) => readings.problems.push(error.to_string()),
        }
    }
    readings
}

struct Answer {
    window: u32,
    sources: usize,
    rows: u64,
    problem: Option<String>,
}

/// All steps of all ranks in a window, which `choice` decides on.
fn ask(bucket: &Bucket, choice: usize) -> Result<Option<Answer>, StoreError> {
    let Some(manifest) = manifest::read_newest(bucket, RUN)? else { return Ok(None) };
    let windows: BTreeSet<u32> = manifest.blocks.iter().map(|block| block.windows.0).collect();
    let Some(window) = windows.iter().nth(choice % windows.len().max(1)).copied() else { return Ok(None) };
    let (mut rows, mut packs) = (0, Vec::new());
    for entry in manifest.blocks.iter().filter(|block| block.windows.0 == window) {
        let descriptor = block::read(bucket, RUN, entry.id)?;
        packs.extend(block::packs(bucket, RUN, (entry.id, &descriptor))?);
        for file in descriptor.tables.get(STEPS.name).into_iter().flatten() {
            let key = block::file_key(RUN, entry.id, &file.path);
            let bytes = bucket.get(&key, UNWATCHED)?;
            for batch in TableRows::whole(&STEPS, bytes, &key)? {
                rows += batch?.num_rows() as u64;
            }
        }
    }
    let problem = problem(&manifest, &packs, rows);
    Ok(Some(Answer { window, sources: packs.len(), rows, problem }))
}

fn problem(manifest: &Manifest, packs: &[BlockPack], rows: u64) -> Option<String> {
    let recordings: BTreeSet<_> = packs.iter().map(|pack| (pack.name.id, pack.name.key)).collect();
    if recordings.len() < packs.len() {
        return Some(format!("a source is in two blocks of manifest {}", manifest.n));
    }
    // Every tiny source has three steps.
    let wanted = 3 * packs.iter().filter(|pack| !pack.is_conflict).count() as u64;
    (rows != wanted).then(|| format!("found {rows} steps, expected {wanted}, in manifest {}", manifest.n))
}
