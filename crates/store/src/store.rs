//! A store: which runs, sources and files it has.

use std::path::{Path, PathBuf};

use stepscope_model::{SkippedFile, SourceId, SourceRecord, Table};

use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::owned::{self, OwnedFolder};
use crate::source;
use crate::summary::{self, RunSummary};

/// A directory of runs. Cheap to clone; holds no open files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Makes a store, or opens the one that is there and clears away what killed writers left in it.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        disk::create_folders(&layout::runs_dir(root))?;
        owned::sweep(&layout::runs_dir(root), layout::TEMPORARY_PREFIX);
        let store = Self { root: root.to_owned() };
        store.check_versions()?;
        Ok(store)
    }

    /// Opens a store that has at least one source, and refuses one of another version by name.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        if !Self::is_store(root) {
            return Err(StoreError::NotAStore { path: root.to_owned() });
        }
        let store = Self { root: root.to_owned() };
        store.check_versions()?;
        Ok(store)
    }

    /// Whether a folder is a store: it has `runs/*/sources`.
    #[must_use]
    pub fn is_store(path: &Path) -> bool {
        disk::list(&layout::runs_dir(path)).is_ok_and(|runs| runs.iter().any(|run| run.join("sources").is_dir()))
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder on the store's disk for temporary files without a name.
    #[must_use]
    pub fn scratch_dir(&self) -> PathBuf {
        layout::runs_dir(&self.root)
    }

    /// The runs that have a source, by folder name, sorted.
    pub fn runs(&self) -> Result<Vec<String>, StoreError> {
        let mut runs = Vec::new();
        for path in disk::list(&layout::runs_dir(&self.root))? {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let is_run = layout::run_folder_name(name) == name;
            if is_run && !source::list_ids(&self.root, name)?.is_empty() {
                runs.push(name.to_owned());
            }
        }
        Ok(runs)
    }

    /// The records of a run, sorted by rank and window; none for a run that is not there yet.
    pub fn sources(&self, run: &str) -> Result<Vec<SourceRecord>, StoreError> {
        let ids = source::list_ids(&self.root, run)?;
        // A record that went away since it was listed is being replaced: the source does not exist at this moment.
        ids.into_iter().filter_map(|id| self.source(run, id).transpose()).collect()
    }

    /// The records of a run that must be there.
    pub fn require_sources(&self, run: &str) -> Result<Vec<SourceRecord>, StoreError> {
        let sources = self.sources(run)?;
        if sources.is_empty() {
            return Err(StoreError::NoSuchRun { run: run.to_owned(), known: self.runs()?, path: self.root.clone() });
        }
        Ok(sources)
    }

    /// The record of one source; `None` if it does not exist.
    pub fn source(&self, run: &str, id: SourceId) -> Result<Option<SourceRecord>, StoreError> {
        source::read(&layout::source_file(&self.root, run, id))
    }

    /// The Parquet files of a table, sorted by rank and window: exactly those that a source record vouches for.
    pub fn table_files(&self, run: &str, table: &'static Table) -> Result<Vec<PathBuf>, StoreError> {
        self.files_of(run, &self.sources(run)?, table)
    }

    /// Like [`Self::table_files`], for records that are already read: a run of many ranks reads them once for all tables.
    pub fn files_of(
        &self,
        run: &str,
        sources: &[SourceRecord],
        table: &'static Table,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let paths = sources.iter().flat_map(|record| self.files_of_source(run, record, table));
        let there = |path: PathBuf| {
            if path.is_file() { Ok(path) } else { Err(StoreError::MissingFile { table: table.name, path }) }
        };
        paths.map(there).collect()
    }

    /// Where the rows of a source in a table are, by its record.
    pub(crate) fn files_of_source(&self, run: &str, record: &SourceRecord, table: &Table) -> Vec<PathBuf> {
        files_below(&self.root, run, record, table)
    }

    /// What `run.json` says, counted anew.
    pub fn summary(&self, run: &str) -> Result<RunSummary, StoreError> {
        summary::summarize(&self.root, run)
    }

    /// The files beside the traces of a run that were not read.
    pub fn skipped(&self, run: &str) -> Result<Vec<SkippedFile>, StoreError> {
        let path = layout::skipped_file(&self.root, run);
        let Some(value) = source::read_json(&path)? else { return Ok(Vec::new()) };
        serde_json::from_value(value)
            .map_err(|error| StoreError::CorruptRecord { reason: error.to_string(), path: path.clone() })
    }

    /// Notes which files beside the traces of a run were not read.
    pub fn write_skipped(&self, run: &str, files: &[SkippedFile]) -> Result<(), StoreError> {
        let path = layout::skipped_file(&self.root, run);
        if files.is_empty() {
            return disk::remove_if_present(&path).map(drop);
        }
        let temporary = self.temporary_dir()?;
        disk::write_atomically(&temporary.path().join("skipped.json"), &path, &source::json_bytes(&files, &path)?)
    }

    /// Gives a run another name, which no run may have yet.
    pub fn rename_run(&self, run: &str, name: &str) -> Result<(), StoreError> {
        let target = layout::run_dir(&self.root, name);
        disk::move_into_place(&layout::run_dir(&self.root, run), &target)?;
        let name = layout::run_folder_name(name);
        let temporary = self.temporary_dir()?;
        for mut record in self.sources(&name)? {
            record.run.clone_from(&name);
            source::write(&self.root, &name, temporary.path(), &record)?;
        }
        summary::write(&self.root, &name, temporary.path()).map(drop)
    }

    fn temporary_dir(&self) -> Result<OwnedFolder, StoreError> {
        let runs_dir = layout::runs_dir(&self.root);
        OwnedFolder::create(&runs_dir, layout::TEMPORARY_PREFIX)
            .map_err(StoreError::io("create a temporary folder", &runs_dir))
    }

    /// A run's summary is enough when it is there; without one every record is asked.
    fn check_versions(&self) -> Result<(), StoreError> {
        for run in self.runs()? {
            let path = layout::summary_file(&self.root, &run);
            match source::read_json(&path) {
                Ok(Some(value)) => source::check_versions(&value, &path)?,
                Ok(None) | Err(StoreError::CorruptRecord { .. }) => drop(self.sources(&run)?),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Where the rows of a source in a table are below the root of its store, by its record.
pub(crate) fn relative_files(run: &str, record: &SourceRecord, table: &Table) -> Vec<PathBuf> {
    files_below(Path::new(""), run, record, table)
}

fn files_below(root: &Path, run: &str, record: &SourceRecord, table: &Table) -> Vec<PathBuf> {
    if record.rows.of(table) == 0 {
        return Vec::new();
    }
    match record.partitions.get(table.name) {
        Some(partitions) => {
            let file = |partition: &u32| layout::partition_file(root, run, table, *partition, record.id);
            partitions.iter().map(file).collect()
        }
        None => vec![layout::table_file(root, run, table, record.id)],
    }
}
