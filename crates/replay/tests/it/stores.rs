//! Traces as stores, made by the ordinary way in.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_ingest::{Options, Progress, ingest};
use stepscope_model::SourceRecord;
use stepscope_replay::read::{ReadError, Settings, Taken, TakenJob, read, read_job};
use stepscope_replay::{JobModel, StepModel};
use stepscope_store::Store;
use tempfile::TempDir;

struct Silent;

impl Progress for Silent {
    fn update(&self, _: &str, _: u64, _: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _: &str) {}
}

/// A store with one trace.
pub(crate) struct OneTrace {
    pub store: Store,
    pub source: SourceRecord,
    _folder: TempDir,
}

impl OneTrace {
    /// Ingests a file.
    pub(crate) fn of_file(path: &Path, options: &Options) -> Self {
        Self::if_trace(path, options).expect("the file is a trace")
    }

    /// Ingests a file; `None` if it is not a trace.
    pub(crate) fn if_trace(path: &Path, options: &Options) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        let outcome = ingest(&[PathBuf::from(path)], &store, options, &Silent).ok()?;
        let source = outcome.sources.first()?.record.clone();
        Some(Self { store, source, _folder: folder })
    }

    /// Ingests a trace that is at hand as text.
    pub(crate) fn of_text(trace: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        fs::write(&path, trace).unwrap();
        Self::of_file(&path, &Options::default())
    }

    pub(crate) fn read(&self, settings: &Settings) -> Result<Taken, ReadError> {
        read(&self.store.catalog(&self.source.run)?, &self.source, settings)
    }

    pub(crate) fn model(&self) -> StepModel {
        StepModel::build(self.read(&Settings::default()).unwrap().recording).unwrap()
    }
}

/// A store with one trace for each rank of a job.
pub(crate) struct ManyRanks {
    pub store: Store,
    pub sources: Vec<SourceRecord>,
    _folder: TempDir,
}

impl ManyRanks {
    /// Ingests the files of a job.
    pub(crate) fn of_files(paths: &[PathBuf], options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        ingest(paths, &store, options, &Silent).unwrap();
        let run = store.runs().unwrap().remove(0);
        let sources = store.sources(&run).unwrap();
        assert_eq!(sources.len(), paths.len(), "the files are one job");
        Self { store, sources, _folder: folder }
    }

    /// Ingests traces that are at hand as text.
    pub(crate) fn of_texts(traces: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |rank: usize| folder.path().join(format!("rank{rank}.json"));
        let paths: Vec<PathBuf> = (0..traces.len()).map(path).collect();
        paths.iter().zip(traces).for_each(|(path, trace)| fs::write(path, trace).unwrap());
        Self::of_files(&paths, &Options::default())
    }

    pub(crate) fn read(&self, settings: &Settings) -> Result<TakenJob, ReadError> {
        read_job(&self.store.catalog(&self.sources[0].run)?, &self.sources, settings)
    }

    pub(crate) fn model(&self) -> JobModel {
        JobModel::build(self.read(&Settings::default()).unwrap().recordings).unwrap()
    }
}
