//! A store to read, wherever it lies and whatever form it has.

use std::path::Path;

use stepscope_objects::{Bucket, ObjectError, Place, Watch};

use crate::catalog::{Catalog, shown};
use crate::error::StoreError;
use crate::layout;
use crate::pack::packs_folder;
use crate::store::Store;

/// A store to read. Runs in the folder form and runs of packs may lie beside each other in a folder.
#[derive(Clone, Debug)]
pub struct AnyStore {
    bucket: Bucket,
    /// The store in the folder form, if it is one.
    folder: Option<Store>,
}

impl AnyStore {
    /// Opens a store, and refuses one of another version by name.
    pub fn open(place: &Place) -> Result<Self, StoreError> {
        let bucket = Bucket::open(place)?;
        let root = place.folder().filter(|root| Store::is_store(root));
        let folder = root.map(Store::open).transpose()?;
        let store = Self { bucket, folder };
        if store.folder.is_none() && store.runs()?.is_empty() {
            return Err(StoreError::NotAStore { path: shown(&store.bucket, "") });
        }
        Ok(store)
    }

    /// Opens a folder.
    pub fn open_folder(root: &Path) -> Result<Self, StoreError> {
        Self::open(&Place::Folder(root.to_owned()))
    }

    /// Whether there are runs in any form, as far as their names tell.
    pub fn is_store(place: &Place) -> Result<bool, StoreError> {
        if place.folder().is_some_and(Store::is_store) {
            return Ok(true);
        }
        let bucket = Bucket::open(place)?;
        let runs = bucket.folders("runs")?;
        // In a bucket a folder of keys is there because something is in it.
        if place.folder().is_none() {
            return Ok(!runs.is_empty());
        }
        runs.iter()
            .map(|run| has_packs(&bucket, run))
            .find(|has| !matches!(has, Ok(false)))
            .unwrap_or(Ok(false))
            .map_err(Into::into)
    }

    /// The store in the folder form, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Store> {
        self.folder.as_ref()
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.bucket.place()
    }

    /// The runs that have a source, sorted.
    pub fn runs(&self) -> Result<Vec<String>, StoreError> {
        let mut runs = self.folder.as_ref().map_or_else(|| Ok(Vec::new()), Store::runs)?;
        for run in self.bucket.folders("runs")? {
            // In a bucket a folder of keys is there because something is in it.
            let is_here = || !runs.contains(&run) && layout::run_folder_name(&run) == run;
            if is_here() && (self.place().folder().is_none() || has_packs(&self.bucket, &run)?) {
                runs.push(run);
            }
        }
        runs.sort_unstable();
        Ok(runs)
    }

    /// Looks at a run. `watch` hears how many bytes were read so far, and may end it.
    pub fn catalog(&self, run: &str, watch: Watch<'_>) -> Result<Catalog, StoreError> {
        if let Some(store) = &self.folder
            && !store.sources(run)?.is_empty()
        {
            return Catalog::of_folder(store, self.bucket.clone(), run);
        }
        let catalog = Catalog::of_packs(self.bucket.clone(), run, watch)?;
        if !catalog.sources().is_empty() {
            return Ok(catalog);
        }
        match catalog.skipped() {
            [] => {
                let (run, path) = (run.to_owned(), shown(&self.bucket, ""));
                Err(StoreError::NoSuchRun { run, known: self.runs()?, path })
            }
            [first, ..] => Err(StoreError::NoUsablePack {
                count: catalog.skipped().len(),
                reason: first.what.clone(),
                path: first.path.clone().into(),
            }),
        }
    }
}

fn has_packs(bucket: &Bucket, run: &str) -> Result<bool, ObjectError> {
    Ok(!bucket.folders(&packs_folder(run))?.is_empty())
}
