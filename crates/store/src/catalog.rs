//! Where the rows of a run are, whatever form its store has: files of a folder, or packs in a folder or a bucket.
//!
//! Whoever queries a run asks a catalog and nothing else: the engine for the files of a table, the timeline and the
//! replay for the rows of one source.

mod packs;

use std::sync::Arc;

use stepscope_model::{SkippedFile, SourceId, SourceRecord, Table};
use stepscope_objects::{Bucket, Part, Place, Watch};

use crate::error::StoreError;
use crate::pack::{Depth, Pack};
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
    sources: Vec<SourceRecord>,
    /// Where the rows of each source are, in the same order.
    holdings: Arc<[Holding]>,
    skipped: Vec<SkippedFile>,
}

/// Where the rows of a source are.
#[derive(Debug)]
enum Holding {
    /// In a file per table.
    Files,
    /// In a pack.
    Pack {
        /// Its key.
        key: String,
        pack: Box<Pack>,
    },
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
        let contents = Contents { bucket, run: run.to_owned(), sources, holdings, skipped };
        Ok(Self { contents: Arc::new(contents) })
    }

    /// Looks at the packs of a run. What cannot be used of them is among the skipped files.
    pub(crate) fn of_packs(bucket: Bucket, run: &str, watch: Watch<'_>) -> Result<Self, StoreError> {
        let found = packs::find(&bucket, run, watch)?;
        let (sources, holdings): (_, Vec<Holding>) =
            found.packs.into_iter().map(|(key, pack)| (pack.record.clone(), holding(key, pack))).unzip();
        let holdings = holdings.into();
        let contents = Contents { bucket, run: run.to_owned(), sources, holdings, skipped: found.skipped };
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

    /// The records of the run, sorted by rank and window.
    #[must_use]
    pub fn sources(&self) -> &[SourceRecord] {
        &self.contents.sources
    }

    /// What lies beside the sources and was not read, or cannot be used.
    #[must_use]
    pub fn skipped(&self) -> &[SkippedFile] {
        &self.contents.skipped
    }

    /// The sources of these whose rows in a table were not uploaded: the store has their sums alone.
    #[must_use]
    pub fn without_rows(&self, table: &'static Table, ids: &[SourceId]) -> Vec<SourceId> {
        let lacks = |id: &&SourceId| {
            self.place_of(**id).is_some_and(|place| {
                let recorded = self.contents.sources[place].rows.get(table.name).copied().unwrap_or(0);
                recorded > 0 && self.parts_at(place, table).is_empty()
            })
        };
        ids.iter().filter(lacks).copied().collect()
    }

    /// The same run, in which recordings without events have none: for answers that say so themselves.
    #[must_use]
    pub fn of_what_is_there(&self) -> Self {
        let mut sources = self.contents.sources.clone();
        for (place, source) in sources.iter_mut().enumerate() {
            for table in stepscope_model::tables::TABLES {
                if self.parts_at(place, table).is_empty() {
                    source.rows.insert(table.name.to_owned(), 0);
                }
            }
        }
        let Contents { bucket, run, holdings, skipped, .. } = &*self.contents;
        let (bucket, run, holdings, skipped) = (bucket.clone(), run.clone(), Arc::clone(holdings), skipped.clone());
        Self { contents: Arc::new(Contents { bucket, run, sources, holdings, skipped }) }
    }

    /// Whether the store has the events of a source, rather than its sums alone.
    #[must_use]
    pub fn has_events(&self, id: SourceId) -> bool {
        match self.place_of(id).map(|place| &self.contents.holdings[place]) {
            Some(Holding::Pack { pack, .. }) => pack.depth() == Depth::Full,
            Some(Holding::Files) => true,
            None => false,
        }
    }

    /// Where the rows of some sources in a table are, in the order of the sources.
    #[must_use]
    pub fn parts(&self, table: &'static Table, ids: &[SourceId]) -> Vec<TablePart> {
        let places = ids.iter().filter_map(|id| self.place_of(*id));
        places.flat_map(|place| self.parts_at(place, table)).collect()
    }

    /// A table of one source, if it has rows there; of a partitioned table, its first partition.
    pub fn reader(&self, id: SourceId, table: &'static Table) -> Result<Option<TableReader>, StoreError> {
        Ok(self.readers(id, table)?.into_iter().next())
    }

    /// A table of one source, one reader for each part that has rows of it: several if the table is partitioned.
    pub fn readers(&self, id: SourceId, table: &'static Table) -> Result<Vec<TableReader>, StoreError> {
        let parts = self.parts(table, &[id]).into_iter();
        parts.map(|part| TableReader::of_part(&self.contents.bucket, &part, table)).collect()
    }

    fn place_of(&self, id: SourceId) -> Option<usize> {
        self.contents.sources.binary_search_by_key(&id, |source| source.id).ok()
    }

    fn parts_at(&self, place: usize, table: &'static Table) -> Vec<TablePart> {
        let record = &self.contents.sources[place];
        match &self.contents.holdings[place] {
            Holding::Files => {
                let files = crate::store::relative_files(&self.contents.run, record, table);
                files.iter().map(|path| TablePart::file(path)).collect()
            }
            Holding::Pack { key, pack } => {
                let part = |range| TablePart::part(Part { key: key.clone(), range });
                pack.members_of(table).map(|member| part(member.range())).collect()
            }
        }
    }
}

fn holding(key: String, pack: Pack) -> Holding {
    Holding::Pack { key, pack: Box::new(pack) }
}

impl Store {
    /// Where the rows of a run are, for whoever queries it.
    pub fn catalog(&self, run: &str) -> Result<Catalog, StoreError> {
        Catalog::of_folder(self, Bucket::open(&Place::Folder(self.root().to_owned()))?, run)
    }
}
