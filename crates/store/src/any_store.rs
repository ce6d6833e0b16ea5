//! A store to read, wherever it lies and whatever form it has.

use std::path::Path;

use stepscope_objects::{Bucket, ObjectError, Place, Watch};

use crate::catalog::Catalog;
use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::marker;
use crate::pack::packs_folder;
use crate::store::Store;
use crate::table_part::shown;

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
        Self::find(place)?.ok_or_else(|| StoreError::NotAStore { path: place.to_string().into() })
    }

    /// Opens a store if there is one. In a bucket that is one request.
    pub fn find(place: &Place) -> Result<Option<Self>, StoreError> {
        let bucket = Bucket::open(place)?;
        match place.folder() {
            Some(root) if Store::is_store(root) => Ok(Some(Self { bucket, folder: Some(Store::open(root)?) })),
            Some(root) => Ok(Self::is_in_folder(root).then_some(Self { bucket, folder: None })),
            None => Ok(marker::read(&bucket)?.map(|_| Self { bucket, folder: None })),
        }
    }

    /// Opens a folder.
    pub fn open_folder(root: &Path) -> Result<Self, StoreError> {
        Self::open(&Place::Folder(root.to_owned()))
    }

    /// Whether a folder is a store in any form, of whatever version.
    #[must_use]
    pub fn is_in_folder(root: &Path) -> bool {
        let runs = || disk::list(&layout::runs_dir(root)).unwrap_or_default();
        Store::is_store(root) || runs().iter().any(|run| run.join("in").is_dir())
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
