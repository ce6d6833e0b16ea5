//! Makes one block: reads the sums of its packs in order, writes its files, and then what describes it.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_objects::ObjectError;
use stepscope_store::StoreError;
use stepscope_store::block::{self, BlockFile, BlockPack, Descriptor, PackSet};
use stepscope_store::manifest::BlockEntry;
use stepscope_store::owned::OwnedFolder;
use stepscope_store::pack::PackName;

use super::SCRATCH_PREFIX;
use super::error::CompactError;
use super::job::{Job, Output};
use super::parts::PartFile;
use super::pass::{self, Pass};
use super::read::Bad;

/// What came of it.
pub(super) enum Merged {
    /// The block is there, though no manifest names it yet.
    Block { entry: BlockEntry, packs: Vec<BlockPack> },
    /// It is not, because of these packs.
    Bad(Vec<(PackName, Bad)>),
}

impl Job<'_> {
    /// Makes the block, or finds it: whoever described it was done with it.
    pub(super) fn merge(&self) -> Result<Merged, CompactError> {
        if !self.is_repair {
            match self.find() {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                // Nobody reads a block of another version, so it can be made over.
                Err(CompactError::Store(StoreError::WrongVersion { .. })) => {
                    return Job { is_repair: true, ..*self }.merge();
                }
                Err(error) => return Err(error),
            }
        }
        let parent = self.options.scratch_dir();
        let folder = OwnedFolder::create(&parent, SCRATCH_PREFIX)
            .map_err(CompactError::io("create a temporary folder", &parent))?;
        let mut output = Output::default();
        for (number, partitions) in pass::partitions(self.options.memory_limit_bytes).enumerate() {
            Pass::new(self, folder.path(), number == 0, partitions).run(&mut output)?;
            if !output.bad.is_empty() {
                return Ok(Merged::Bad(output.bad));
            }
        }
        let descriptor = self.descriptor(&mut output.files);
        self.describe(&descriptor)?;
        let entry = self.entry(&descriptor, output.first_ns, output.last_ns);
        Ok(Merged::Block { entry, packs: output.packs })
    }

    /// The block, if it was made before.
    fn find(&self) -> Result<Option<Merged>, CompactError> {
        let descriptor = match block::read(self.bucket, self.run, self.plan.id) {
            Ok(descriptor) => descriptor,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let everything = 0..=u32::MAX;
        let sources = block::sources(self.bucket, self.run, (self.plan.id, &descriptor), &everything, &everything)?;
        let first_ns = sources.iter().filter_map(|source| source.record.first_event_ns).min();
        let last_ns = sources.iter().filter_map(|source| source.record.last_event_ns).max();
        let entry = self.entry(&descriptor, first_ns, last_ns);
        let packs = sources.into_iter().map(|source| source.pack).collect();
        Ok(Some(Merged::Block { entry, packs }))
    }

    fn descriptor(&self, files: &mut Vec<PartFile>) -> Descriptor {
        files.sort_by_key(|part| part.place);
        let mut tables: BTreeMap<String, Vec<BlockFile>> = BTreeMap::new();
        for part in files.drain(..) {
            tables.entry(part.place.0.to_owned()).or_default().push(part.file);
        }
        let hours: BTreeSet<&String> = self.plan.packs.iter().map(|pack| &pack.name.hour).collect();
        let packs = PackSet {
            hours: hours.into_iter().cloned().collect(),
            count: self.plan.packs.len() as u64,
            xxh3: self.plan.id,
        };
        Descriptor {
            format: block::FORMAT,
            schema_version: SCHEMA_VERSION,
            derivation_version: DERIVATION_VERSION,
            packs,
            tables,
        }
    }

    /// Writes what describes the block. Another one under its name was made by other rules, and may be in use.
    fn describe(&self, descriptor: &Descriptor) -> Result<(), CompactError> {
        let key = block::descriptor_key(self.run, self.plan.id);
        let corrupt = |reason: String| StoreError::CorruptObject { what: "block", reason, key: key.clone() };
        let mut bytes = serde_json::to_vec(descriptor).map_err(|error| corrupt(error.to_string()))?;
        bytes.push(b'\n');
        if self.is_repair {
            return Ok(self.bucket.put(&key, bytes)?);
        }
        match self.bucket.put_new(&key, bytes) {
            Err(ObjectError::Taken { .. }) => Err(corrupt("another one has its name".to_owned()).into()),
            outcome => Ok(outcome.map(drop)?),
        }
    }

    fn entry(&self, descriptor: &Descriptor, first_ns: Option<i64>, last_ns: Option<i64>) -> BlockEntry {
        let ids = || self.plan.packs.iter().map(|pack| pack.name.id);
        let ends = |numbers: BTreeSet<u32>| {
            (numbers.first().copied().unwrap_or_default(), numbers.last().copied().unwrap_or_default())
        };
        BlockEntry {
            id: self.plan.id,
            windows: ends(ids().map(|id| id.window).collect()),
            ranks: ends(ids().map(|id| id.rank).collect()),
            sources: self.plan.packs.len() as u64,
            first_ns,
            last_ns,
            bytes: descriptor.tables.values().flatten().map(|file| file.bytes).sum(),
        }
    }
}
