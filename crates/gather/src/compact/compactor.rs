//! One round of compaction after the other: plan, build, publish.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use stepscope_objects::{Bucket, UNWATCHED};
use stepscope_store::block::BlockId;
use stepscope_store::manifest;
use stepscope_store::pack::{ListedPack, PackName, list_packs, packs_folder};
use stepscope_store::{layout, owned};

use super::change::{Change, Published, publish};
use super::error::CompactError;
use super::held::Held;
use super::hours::Scope;
use super::options::{CompactOptions, OnProgress, Progress, QUIET};
use super::outcome::Compaction;
use super::round::{Planned, Round};
use super::worlds::Worlds;
use super::{ATTEMPTS, SCRATCH_PREFIX, check_conditions, jitter, step};

/// Blocks that one manifest adds at most: what is merged should be seen soon.
const BLOCKS_PER_MANIFEST: usize = 16;

/// Compacts a run, round after round, and remembers what it has read.
#[derive(Debug)]
pub struct Compactor {
    pub(super) bucket: Bucket,
    pub(super) run: String,
    pub(super) options: CompactOptions,
    pub(super) held: Held,
    pub(super) worlds: Worlds,
    pub(super) refused: BTreeMap<PackName, String>,
    /// Blocks that cannot be made again, because packs of them are gone.
    pub(super) frozen: BTreeSet<BlockId>,
    /// When all hours that are not sealed were listed last.
    listed_all_ns: Option<i64>,
    /// Whether the hours had so many packs that each shard is listed by itself.
    pub(super) is_sharded: bool,
    /// Whether blocks are made again that are there.
    pub(crate) is_repair: bool,
}

impl Compactor {
    /// A compactor of a run. Refuses an object store that ignores conditions, unless it is the only writer.
    pub fn new(bucket: &Bucket, run: &str, options: &CompactOptions) -> Result<Self, CompactError> {
        check_conditions(bucket, options.single_writer)?;
        owned::sweep(&options.scratch_dir(), SCRATCH_PREFIX);
        Ok(Self {
            bucket: bucket.clone(),
            run: layout::run_folder_name(run),
            options: options.clone(),
            held: Held::default(),
            worlds: Worlds::default(),
            refused: BTreeMap::new(),
            frozen: BTreeSet::new(),
            listed_all_ns: None,
            is_sharded: false,
            is_repair: false,
        })
    }

    /// Looks for packs that no block has, merges those whose window is complete or settled, and writes manifests.
    pub fn round(&mut self, progress: OnProgress<'_>) -> Result<Compaction, CompactError> {
        match self.round_once(progress) {
            // The manifest was too old: whoever is slow may find blocks deleted.
            Err(CompactError::BlockGone { .. }) => self.round_once(progress),
            outcome => outcome,
        }
    }

    fn round_once(&mut self, progress: OnProgress<'_>) -> Result<Compaction, CompactError> {
        let now_ns = self.options.now_ns();
        let base = manifest::read_newest(&self.bucket, &self.run)?;
        let scope = Scope::of(base.as_ref(), self.options.all, self.listed_all_ns, now_ns);
        let there = self.bucket.folders(&packs_folder(&self.run), UNWATCHED)?;
        let mut work = Round { base, ..Round::default() };
        for hours in scope.hours(there) {
            let listed = list_packs(&self.bucket, &self.run, &hours, &mut self.is_sharded)?;
            work.outcome.listed += listed.len() as u64;
            step(progress, &Progress::Listed { packs: work.outcome.listed })?;
            self.merge_listed(&listed, &mut work, progress)?;
        }
        if self.options.all {
            // Also blocks of another version whose packs are all gone.
            let blocks = work.base.as_ref().map_or(&[][..], |base| &base.blocks);
            self.held.load(&self.bucket, &self.run, blocks.iter())?;
            self.merge_listed(&[], &mut work, progress)?;
        }
        self.seal(&mut work, &scope, now_ns)?;
        if scope.is_wide() {
            self.listed_all_ns = Some(now_ns);
        }
        work.outcome.refused = self.refused_packs();
        work.outcome.manifest = work.base.map_or(0, |manifest| manifest.n);
        Ok(work.outcome)
    }

    /// Plans, builds and publishes until nothing of what was listed is left to do.
    fn merge_listed(
        &mut self,
        listed: &[ListedPack],
        work: &mut Round,
        progress: OnProgress<'_>,
    ) -> Result<(), CompactError> {
        let mut lost = 0;
        loop {
            let (live, retired) = work.base.as_ref().map_or((&[][..], &[][..]), |base| (&base.blocks, &base.retired));
            let Planned { mut plans, stale, waiting } = self.plan(listed, live, retired)?;
            if plans.is_empty() && stale.is_empty() {
                work.wait_for(waiting);
                return Ok(());
            }
            plans.truncate(BLOCKS_PER_MANIFEST);
            let mut change = Change { retire: stale, ..Change::default() };
            let mut is_whole = true;
            for plan in plans {
                match self.build(&plan, work, progress)? {
                    Some(entry) => change.replace(&plan.replaces, entry),
                    // Without the packs that turned out to be bad the plan is another one.
                    None => is_whole = false,
                }
            }
            if !is_whole || self.publish(&change, work, progress)? {
                lost = 0;
                continue;
            }
            lost += 1;
            if lost >= ATTEMPTS {
                return Err(CompactError::Contended { attempts: ATTEMPTS, run: self.run.clone() });
            }
            thread::sleep(jitter(lost)?);
        }
    }

    /// Tries to write the next manifest; true if it is there. Else the base is what the winner said.
    fn publish(&mut self, change: &Change, work: &mut Round, progress: OnProgress<'_>) -> Result<bool, CompactError> {
        match publish(&self.bucket, &self.run, work.base.as_ref(), change, self.options.now_ns())? {
            Published::Won(manifest) => {
                step(progress, &Progress::Published { manifest: manifest.n })?;
                work.outcome.added += change.add.len() as u64;
                work.outcome.retired += change.retire.len() as u64;
                work.outcome.merged += change.add.iter().map(|block| block.sources).sum::<u64>();
                work.base = Some(manifest);
                Ok(true)
            }
            Published::Lost(manifest) => {
                work.outcome.lost += 1;
                work.base = Some(manifest);
                Ok(false)
            }
        }
    }

    /// Notes that old hours are not listed any more, if anything else is to be noted: a round that found nothing writes
    /// nothing.
    fn seal(&mut self, work: &mut Round, scope: &Scope, now_ns: i64) -> Result<(), CompactError> {
        let Some(base) = &work.base else { return Ok(()) };
        let Some(sealed) = scope.sealed(base, work.pending_hour.as_deref(), now_ns) else { return Ok(()) };
        let change = Change { seal: Some(sealed), ..Change::default() };
        // Whoever was first may have sealed too; if not, the next round does.
        self.publish(&change, work, QUIET).map(drop)
    }
}
