//! What a compactor does next, and how it makes blocks of that.

use std::collections::BTreeSet;

use stepscope_store::block::{BlockId, BlockPack};
use stepscope_store::manifest::{BlockEntry, Manifest, RetiredBlock};
use stepscope_store::pack::{ListedPack, PackName, list_packs};

use super::change;
use super::compactor::Compactor;
use super::error::CompactError;
use super::hours::Scope;
use super::job::Job;
use super::merge::Merged;
use super::options::{OnProgress, Progress};
use super::outcome::{Compaction, RefusedPack};
use super::plan::{self, Plan};
use super::read::Bad;
use super::round::{Planned, Round};
use super::step;

impl Compactor {
    /// Makes every block that packs give beside those that are kept, and writes no manifest. `base` says what must not
    /// come back.
    pub(crate) fn make_all(
        &mut self,
        kept: &[BlockEntry],
        base: Option<&Manifest>,
        hours: Vec<String>,
        progress: OnProgress<'_>,
    ) -> Result<(Vec<BlockEntry>, Compaction), CompactError> {
        let retired = base.map_or(&[][..], |base| &base.retired);
        self.frozen.extend(kept.iter().map(|block| block.id));
        let (mut live, count, mut work) = (kept.to_vec(), kept.len(), Round::default());
        for hours in Scope::Everything.hours(hours) {
            let listed = list_packs(&self.bucket, &self.run, &hours, &mut self.is_sharded)?;
            work.outcome.listed += listed.len() as u64;
            step(progress, &Progress::Listed { packs: work.outcome.listed })?;
            loop {
                let planned = self.plan(&listed, &live, retired)?;
                if planned.plans.is_empty() {
                    work.wait_for(planned.waiting);
                    break;
                }
                for plan in planned.plans {
                    let Some(entry) = self.build(&plan, &mut work, progress)? else { continue };
                    live.retain(|block| !plan.replaces.contains(&block.id));
                    live.push(entry);
                }
            }
        }
        work.outcome.refused = self.refused_packs();
        // Those that are kept are frozen, so they are still the first.
        Ok((live.split_off(count), work.outcome))
    }

    /// The keys of all packs of some hours.
    pub(crate) fn keys_of(&mut self, hours: &[String]) -> Result<BTreeSet<u128>, CompactError> {
        let mut keys = BTreeSet::new();
        for hours in Scope::Everything.hours(hours.to_vec()) {
            let listed = list_packs(&self.bucket, &self.run, &hours, &mut self.is_sharded)?;
            keys.extend(listed.into_iter().map(|pack| pack.name.key));
        }
        Ok(keys)
    }

    /// Notes the packs of a block that were read already.
    pub(crate) fn hold(&mut self, id: BlockId, packs: Vec<BlockPack>) {
        self.held.insert(id, packs);
    }

    /// What can be merged now, and what has to wait.
    pub(super) fn plan(
        &mut self,
        listed: &[ListedPack],
        live: &[BlockEntry],
        retired: &[RetiredBlock],
    ) -> Result<Planned, CompactError> {
        let now_ns = self.options.now_ns();
        let usable: Vec<&ListedPack> = listed.iter().filter(|pack| !self.refused.contains_key(&pack.name)).collect();
        let windows: BTreeSet<u32> = usable.iter().map(|pack| pack.name.id.window).collect();
        let touched = live.iter().filter(|block| windows.range(block.windows.0..=block.windows.1).next().is_some());
        self.held.load(&self.bucket, &self.run, touched)?;
        let draft = plan::draft(&usable, &self.held.of(live), &self.frozen);
        self.refused.extend(draft.impossible);
        let mut planned = Planned { stale: self.held.stale(live), ..Planned::default() };
        for window in draft.windows {
            let settle_ns = self.options.settle_ns();
            let is_settled = settle_ns == 0 || window.newest_ns.saturating_add(settle_ns) <= now_ns;
            if !is_settled && !self.worlds.is_complete(&self.bucket, &self.run, &window, &mut self.refused)? {
                planned.wait_for(&window);
                continue;
            }
            let plan = Plan::of(&self.run, &window);
            // A block that is about to be deleted cannot come back before that is done.
            if change::is_leaving(retired, plan.id, now_ns) {
                planned.wait_for(&window);
            } else {
                planned.plans.push(plan);
            }
        }
        Ok(planned)
    }

    /// Makes a block, unless it was made before. `None` if packs of it cannot be used, which are left out from now on.
    pub(super) fn build(
        &mut self,
        plan: &Plan,
        work: &mut Round,
        progress: OnProgress<'_>,
    ) -> Result<Option<BlockEntry>, CompactError> {
        if let Some(entry) = work.built.get(&plan.id) {
            return Ok(Some(entry.clone()));
        }
        let Self { bucket, run, options, is_repair, .. } = &*self;
        let job = Job { bucket, run, plan, options, is_repair: *is_repair, progress };
        match job.merge()? {
            Merged::Block { entry, packs } => {
                self.held.insert(plan.id, packs);
                work.built.insert(plan.id, entry.clone());
                work.outcome.built += 1;
                Ok(Some(entry))
            }
            Merged::Bad(bad) => {
                for (name, bad) in bad {
                    match bad {
                        Bad::Refused(reason) => drop(self.refused.insert(name, reason)),
                        Bad::Gone => self.note_gone(plan, name),
                    }
                }
                Ok(None)
            }
        }
    }

    pub(super) fn refused_packs(&self) -> Vec<RefusedPack> {
        self.refused.iter().map(|(name, reason)| RefusedPack::new(&self.run, name, reason)).collect()
    }

    /// A pack that is gone was either listed just before, or it is of a block that stays as it is from now on.
    fn note_gone(&mut self, plan: &Plan, name: PackName) {
        let holders = plan.replaces.iter().filter(|id| self.held.has(**id, &name)).copied();
        let before = self.frozen.len();
        self.frozen.extend(holders);
        if self.frozen.len() == before {
            self.refused.insert(name, Bad::Gone.to_string());
        }
    }
}
