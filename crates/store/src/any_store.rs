//! A store to read, wherever it lies and whatever form it has.

use std::path::Path;

use stepscope_objects::{Bucket, Place, UNWATCHED, Watch};

use crate::catalog::{Catalog, LeftOut, Scope};
use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::marker;
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
        Store::is_store(root) || runs().iter().any(|run| is_packed(run))
    }

    /// The store in the folder form, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Store> {
        self.folder.as_ref()
    }

    /// Its objects.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.bucket.place()
    }

    /// The runs that have a source, sorted.
    pub fn runs(&self) -> Result<Vec<String>, StoreError> {
        let mut runs = self.folder.as_ref().map_or_else(|| Ok(Vec::new()), Store::runs)?;
        runs.extend(self.packed_runs()?);
        runs.sort_unstable();
        runs.dedup();
        Ok(runs)
    }

    /// The runs that are kept as packs, sorted.
    pub fn packed_runs(&self) -> Result<Vec<String>, StoreError> {
        let mut runs = self.bucket.folders("runs", UNWATCHED)?;
        runs.retain(|run| layout::run_folder_name(run) == *run);
        // In a bucket a folder of keys is there because something is in it.
        if let Some(root) = self.place().folder() {
            runs.retain(|run| is_packed(&layout::run_dir(root, run)));
        }
        runs.sort_unstable();
        Ok(runs)
    }

    /// Looks at a run, or at the part of it that is in scope. `watch` hears how many bytes were read so far, and may end
    /// it.
    pub fn catalog(&self, run: &str, scope: Scope, watch: Watch<'_>) -> Result<Catalog, StoreError> {
        if let Some(store) = &self.folder
            && !store.sources(run)?.is_empty()
        {
            return Catalog::of_folder(store, self.bucket.clone(), run);
        }
        let catalog = Catalog::of_objects(self.bucket.clone(), run, scope, watch)?;
        if !catalog.sources().is_empty() {
            return Ok(catalog);
        }
        match (catalog.skipped(), catalog.left_out()) {
            (_, Some(LeftOut { open, windows })) if !windows.is_empty() => {
                let (first, last) = (windows[0], windows[windows.len() - 1]);
                Err(StoreError::NoSuchWindow { window: *open, count: windows.len(), first, last, run: run.to_owned() })
            }
            ([], _) => {
                let (run, path) = (run.to_owned(), shown(&self.bucket, ""));
                Err(StoreError::NoSuchRun { run, known: self.runs()?, path })
            }
            ([first, ..], _) => Err(StoreError::NoUsablePack {
                count: catalog.skipped().len(),
                reason: first.what.clone(),
                path: first.path.clone().into(),
            }),
        }
    }
}

/// Whether the folder of a run has packs, or what is left of them.
fn is_packed(run: &Path) -> bool {
    ["in", "manifest"].iter().any(|folder| run.join(folder).is_dir())
}
