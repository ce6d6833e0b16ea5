//! Where the rows of a run are, whatever form its store has: files of a folder, or packs and blocks in a folder or a
//! bucket.
//!
//! Whoever queries a run asks a catalog and nothing else: the engine for the files of a table, the timeline and the
//! replay for the rows of one source.

mod blocks;
mod found;
mod pack_place;
mod packs;
mod scope;

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_model::{SkippedFile, SourceId, SourceRecord, Table};
use stepscope_objects::{Bucket, Place, Watch, parallel};

use self::blocks::Block;
use self::pack_place::PackPlace;
pub use self::scope::{LeftOut, Scope};
use crate::error::StoreError;
use crate::layout;
use crate::pack::is_sums;
use crate::reader::TableReader;
use crate::store::Store;
use crate::table_part::TablePart;

/// The sources of a run and where their rows are. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {
    contents: Arc<Contents>,
}

#[derive(Debug)]
struct Contents {
    bucket: Bucket,
    run: String,
    sources: Arc<[SourceRecord]>,
    /// Where the rows of each source are, in the same order.
    holdings: Arc<[Holding]>,
    blocks: Arc<[Block]>,
    skipped: Vec<SkippedFile>,
    left_out: Option<LeftOut>,
}

/// Where the rows of a source are.
#[derive(Debug)]
enum Holding {
    /// In a file per table.
    Files,
    /// In a pack.
    Pack(PackPlace),
    /// Its sums are in a block, and its events in a pack.
    Block {
        /// The block.
        place: usize,
        pack: PackPlace,
    },
}

impl Holding {
    /// Whether the store has the rows of a table, if the recording has any.
    fn has(&self, table: &Table) -> bool {
        is_sums(table) || self.has_events()
    }

    fn has_events(&self) -> bool {
        match self {
            Self::Files => true,
            Self::Pack(pack) | Self::Block { pack, .. } => pack.has_events,
        }
    }
}

impl Catalog {
    /// Looks at a run of a store in the folder form. Every file that a record promises must be there.
    pub(crate) fn of_folder(store: &Store, bucket: Bucket, run: &str) -> Result<Self, StoreError> {
        let sources = store.require_sources(run)?;
        for table in stepscope_model::tables::TABLES {
            store.files_of(run, &sources, table)?;
        }
        let holdings = sources.iter().map(|_| Holding::Files).collect();
        let skipped = store.skipped(run)?;
        let (run, sources, blocks) = (run.to_owned(), sources.into(), Vec::new().into());
        let contents = Contents { bucket, run, sources, holdings, blocks, skipped, left_out: None };
        Ok(Self { contents: Arc::new(contents) })
    }

    /// Looks at the blocks and packs of a run. What cannot be used of them is among the skipped files.
    pub(crate) fn of_objects(bucket: Bucket, run: &str, scope: Scope, watch: Watch<'_>) -> Result<Self, StoreError> {
        let found::Found { sources, blocks, skipped, left_out } = found::find(&bucket, run, scope, watch)?;
        let (sources, holdings): (Vec<Box<SourceRecord>>, Vec<Holding>) = sources.into_values().unzip();
        // Records are large, and of a fleet there are thousands: each is moved once.
        let sources = sources.into_iter().map(|source| *source).collect();
        let (run, holdings, blocks) = (run.to_owned(), holdings.into(), blocks.into());
        let contents = Contents { bucket, run, sources, holdings, blocks, skipped, left_out };
        Ok(Self { contents: Arc::new(contents) })
    }

    /// The name of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.contents.run
    }

    /// The objects that it is about.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        &self.contents.bucket
    }

    /// The records of the run, sorted by rank and window. A fleet has thousands, so whoever keeps them shares them.
    #[must_use]
    pub fn sources(&self) -> &Arc<[SourceRecord]> {
        &self.contents.sources
    }

    /// What lies beside the sources and was not read, or cannot be used.
    #[must_use]
    pub fn skipped(&self) -> &[SkippedFile] {
        &self.contents.skipped
    }

    /// Windows that the run has and that are not looked at.
    #[must_use]
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.contents.left_out.as_ref()
    }

    /// The sources of these whose rows in a table the store does not have: it has their sums alone.
    #[must_use]
    pub fn without_rows(&self, table: &'static Table, ids: &[SourceId]) -> Vec<SourceId> {
        let lacks = |id: &&SourceId| {
            self.place_of(**id).is_some_and(|place| self.has_recorded(place, table) && !self.holding(place).has(table))
        };
        ids.iter().filter(lacks).copied().collect()
    }

    /// The same run, in which recordings without events have none: for answers that say so themselves.
    #[must_use]
    pub fn of_what_is_there(&self) -> Self {
        let Contents { bucket, run, sources, holdings, blocks, skipped, left_out } = &*self.contents;
        let mut sources = sources.to_vec();
        for (source, holding) in sources.iter_mut().zip(holdings.iter()) {
            for table in stepscope_model::tables::TABLES.into_iter().filter(|table| !holding.has(table)) {
                source.rows.clear(table);
            }
        }
        let contents = Contents {
            bucket: bucket.clone(),
            run: run.clone(),
            sources: sources.into(),
            holdings: Arc::clone(holdings),
            blocks: Arc::clone(blocks),
            skipped: skipped.clone(),
            left_out: left_out.clone(),
        };
        Self { contents: Arc::new(contents) }
    }

    /// Whether the store has the events of a source, rather than its sums alone.
    #[must_use]
    pub fn has_events(&self, id: SourceId) -> bool {
        self.place_of(id).is_some_and(|place| self.holding(place).has_events())
    }

    /// Where the rows of some sources in a table are, in the order of the sources. A file of a block has rows of others
    /// too. For events, packs that were not read yet are looked into.
    pub fn parts(&self, table: &'static Table, ids: &[SourceId]) -> Result<Vec<TablePart>, StoreError> {
        let Contents { bucket, run, sources, blocks, .. } = &*self.contents;
        let places = ids.iter().filter_map(|id| self.place_of(*id));
        let places: Vec<usize> = places.filter(|place| self.has_recorded(*place, table)).collect();
        // A block has one answer for all of its sources.
        let mut of_blocks: BTreeMap<usize, Vec<SourceId>> = BTreeMap::new();
        let mut of_packs: Vec<&PackPlace> = Vec::new();
        let mut parts = Vec::new();
        for place in places {
            match self.holding(place) {
                Holding::Files => {
                    let files = crate::store::relative_files(run, &sources[place], table);
                    parts.extend(files.iter().map(|path| TablePart::file(path)));
                }
                Holding::Block { place: block, .. } if is_sums(table) => {
                    of_blocks.entry(*block).or_default().push(sources[place].id);
                }
                Holding::Pack(pack) | Holding::Block { pack, .. } if is_sums(table) || pack.has_events => {
                    of_packs.push(pack);
                }
                Holding::Pack(_) | Holding::Block { .. } => {}
            }
        }
        let run = layout::run_folder_name(run);
        parts.extend(of_blocks.into_iter().flat_map(|(block, ids)| blocks[block].parts(&run, table, &ids)));
        let of_packs = parallel::each(&of_packs, |pack| pack.parts(bucket, table))?;
        parts.extend(of_packs.into_iter().flatten());
        Ok(parts)
    }

    /// A table of one source, if it has rows there; of a partitioned table, its first partition.
    pub fn reader(&self, id: SourceId, table: &'static Table) -> Result<Option<TableReader>, StoreError> {
        Ok(self.readers(id, table)?.into_iter().next())
    }

    /// A table of one source, one reader for each part that can have rows of it: several if the table is partitioned.
    pub fn readers(&self, id: SourceId, table: &'static Table) -> Result<Vec<TableReader>, StoreError> {
        let parts = self.parts(table, &[id])?.into_iter();
        let is_shared = self.place_of(id).is_some_and(|place| matches!(self.holding(place), Holding::Block { .. }));
        let reader = |part| TableReader::of_part(&self.contents.bucket, &part, table, is_shared.then_some(id));
        parts.map(reader).collect()
    }

    fn place_of(&self, id: SourceId) -> Option<usize> {
        self.contents.sources.binary_search_by_key(&id, |source| source.id).ok()
    }

    fn holding(&self, place: usize) -> &Holding {
        &self.contents.holdings[place]
    }

    fn has_recorded(&self, place: usize, table: &Table) -> bool {
        self.contents.sources[place].rows.of(table) > 0
    }
}

impl Store {
    /// Where the rows of a run are, for whoever queries it.
    pub fn catalog(&self, run: &str) -> Result<Catalog, StoreError> {
        Catalog::of_folder(self, Bucket::open(&Place::Folder(self.root().to_owned()))?, run)
    }
}
