//! Reads the packs of a block once, in order, and writes as many tables as fit into memory.
//!
//! Rows are sorted by window and rank, because packs are. Every table and partition is open at once, and keeps the row
//! group that it writes in memory. With less memory the partitions of collectives are written in several passes, each of
//! which reads what it needs of every pack: so the limit changes the time, and never the bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use stepscope_model::SourceId;
use stepscope_objects::parallel;
use stepscope_store::block::{BlockPack, BlockSource, SOURCES};
use stepscope_store::layout;
use stepscope_store::pack::{Member, is_sums};

use super::error::CompactError;
use super::job::{Job, Output};
use super::options::Progress;
use super::parts::Parts;
use super::plan::PlannedPack;
use super::read::{self, Bad, Fetched};
use super::step;

/// Memory of a table that is being written, which keeps its row group until it is full. Measured on collectives: 22 MiB
/// with random values, and those of real ones repeat.
const WRITER_BYTES: u64 = 16 << 20;

/// Sources whose rows are written at once. Part of what a block is, as it decides where pages end.
const SOURCES_AT_ONCE: usize = 256;

/// The partitions of each pass.
pub(super) fn partitions(memory_limit_bytes: u64) -> impl Iterator<Item = Range<u32>> {
    // Half of the memory is for tables without partitions, and for packs that were read ahead.
    let at_once = (memory_limit_bytes / 2 / WRITER_BYTES).clamp(2, layout::COLLECTIVE_GROUPS) as u32;
    let all = layout::COLLECTIVE_GROUPS as u32;
    (0..all).step_by(at_once as usize).map(move |first| first..all.min(first + at_once))
}

/// One pass.
pub(super) struct Pass<'a> {
    job: &'a Job<'a>,
    folder: &'a Path,
    /// The first pass also writes the tables without partitions.
    is_first: bool,
    partitions: Range<u32>,
    /// Ranks and windows that several sources claim.
    conflicts: BTreeSet<SourceId>,
    tables: BTreeMap<(&'static str, Option<u32>), Parts>,
    sources: Vec<BlockSource>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(job: &'a Job<'a>, folder: &'a Path, is_first: bool, partitions: Range<u32>) -> Self {
        let ids = job.plan.packs.windows(2).filter(|pair| pair[0].name.id == pair[1].name.id);
        let conflicts = ids.map(|pair| pair[0].name.id).collect();
        Self { job, folder, is_first, partitions, conflicts, tables: BTreeMap::new(), sources: Vec::new() }
    }

    /// Reads and writes. After the first pack that cannot be used the others are only read, to find all of them.
    pub(super) fn run(&mut self, output: &mut Output) -> Result<(), CompactError> {
        let Job { bucket, run, plan, progress, .. } = *self.job;
        let (is_first, partitions) = (self.is_first, self.partitions.clone());
        let fetch = |index: usize| {
            let PlannedPack { name, size_bytes } = &plan.packs[index];
            read::sums(bucket, run, name, *size_bytes, |member| is_wanted(member, is_first, &partitions))
        };
        parallel::ahead(plan.packs.len(), fetch, |index, fetched| {
            let pack = &plan.packs[index];
            match fetched? {
                Ok(fetched) => {
                    if let Err(bad) = self.take(pack, &fetched, output)? {
                        output.bad.push((pack.name.clone(), bad));
                    }
                }
                Err(bad) => output.bad.push((pack.name.clone(), bad)),
            }
            let (sources, of) = (index as u64 + 1, plan.packs.len() as u64);
            step(progress, &Progress::Merged { window: plan.window, sources, of })
        })?;
        if !output.bad.is_empty() {
            return Ok(());
        }
        self.write_sources()?;
        let mut files = Vec::new();
        for parts in self.tables.values_mut() {
            files.extend(parts.take()?);
        }
        self.job.upload(files, output)
    }

    fn take(
        &mut self,
        pack: &PlannedPack,
        fetched: &Fetched,
        output: &mut Output,
    ) -> Result<Result<(), Bad>, CompactError> {
        let id = pack.name.id;
        let is_conflict = self.conflicts.contains(&id);
        if self.is_first {
            let pack = BlockPack { name: pack.name.clone(), size_bytes: pack.size_bytes, is_conflict };
            let record = Box::new(fetched.pack.record.clone());
            output.first_ns = output.first_ns.into_iter().chain(record.first_event_ns).min();
            output.last_ns = output.last_ns.into_iter().chain(record.last_event_ns).max();
            output.packs.push(pack.clone());
            self.sources.push(BlockSource { pack, record });
            if self.sources.len() == SOURCES_AT_ONCE {
                self.write_sources()?;
            }
        }
        let key = pack.name.object_key(self.job.run);
        for member in fetched.pack.members.iter().filter(|member| is_wanted(member, self.is_first, &self.partitions)) {
            let slot = (member.table.name, member.partition);
            let written = fetched.bytes(member).and_then(|bytes| {
                // Rows of sources that contradict each other could not be told apart.
                if is_conflict || !output.bad.is_empty() {
                    return Ok(());
                }
                let new = || Parts::new(member.table, member.partition, self.folder);
                self.tables.entry(slot).or_insert_with(new).append(id, bytes, member.rows, &key)
            });
            if let Err(bad) = read::sort_out(written)? {
                return Ok(Err(bad));
            }
            let full = self.tables.get_mut(&slot).map(Parts::take_full).transpose()?.flatten();
            self.job.upload(full.into_iter().collect(), output)?;
        }
        Ok(Ok(()))
    }

    fn write_sources(&mut self) -> Result<(), CompactError> {
        let sources = std::mem::take(&mut self.sources);
        if !sources.is_empty() {
            let parts = self.tables.entry((SOURCES.name, None));
            parts.or_insert_with(|| Parts::new(&SOURCES, None, self.folder)).append_sources(self.job.run, &sources)?;
        }
        Ok(())
    }
}

fn is_wanted(member: &Member, is_first: bool, partitions: &Range<u32>) -> bool {
    is_sums(member.table) && member.partition.map_or(is_first, |partition| partitions.contains(&partition))
}
