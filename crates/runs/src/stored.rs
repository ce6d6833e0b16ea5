//! Stores among what the user named.

use std::path::{Path, PathBuf};

use stepscope_objects::Place;
use stepscope_store::{AnyStore, StoreError};

use crate::error::RunError;

/// Whether a path is an address such as `s3://bucket/prefix`, rather than a file or folder.
#[must_use]
pub fn is_address(path: &Path) -> bool {
    Place::is_address(path)
}

/// Whether a path names a file or folder that is not there. A bucket is asked when it is read.
pub(crate) fn is_missing(path: &Path) -> bool {
    path.as_os_str() != "-" && !Place::is_address(path) && !path.exists()
}

/// The store at `path`, or the store and run that `path` is the folder of.
pub(crate) fn find_store(path: &Path) -> Result<Option<(AnyStore, Option<String>)>, RunError> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let place = Place::of_path(path).map_err(StoreError::from)?;
    if let Some((root, run)) = run_of(&place)
        && let Some(store) = AnyStore::find(&root)?
    {
        return Ok(Some((store, Some(run))));
    }
    Ok(AnyStore::find(&place)?.map(|store| (store, None)))
}

/// The folder of the store that a path means; `None` for one in a bucket, which no file can be part of.
pub(crate) fn store_folder(path: &Path) -> Option<PathBuf> {
    if AnyStore::is_in_folder(path) {
        return Some(path.to_owned());
    }
    match run_of(&Place::of_path(path).ok()?) {
        Some((Place::Folder(root), _)) if AnyStore::is_in_folder(&root) => Some(root),
        _ => None,
    }
}

/// The root and the run of a place such as `<root>/runs/<run>`.
fn run_of(place: &Place) -> Option<(Place, String)> {
    match place {
        Place::Folder(path) => {
            let runs = path.parent().filter(|runs| runs.file_name().is_some_and(|name| name == "runs"))?;
            let run = path.file_name()?.to_str()?.to_owned();
            let root = runs.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some((Place::Folder(root.to_owned()), run))
        }
        Place::Bucket { provider, bucket, prefix } => {
            let (runs, run) = prefix.rsplit_once('/')?;
            let root = if runs == "runs" { "" } else { runs.strip_suffix("/runs")? };
            let place = Place::Bucket { provider: *provider, bucket: bucket.clone(), prefix: root.to_owned() };
            Some((place, run.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_a_store_is_told_by_its_folder() {
        let check = |text: &str, want: Option<(&str, &str)>| {
            let found = run_of(&Place::of_path(Path::new(text)).unwrap());
            let found = found.map(|(root, run)| (root.to_string(), run));
            assert_eq!(found, want.map(|(root, run)| (root.to_owned(), run.to_owned())), "{text}");
        };
        check("s3://bucket/runs/a", Some(("s3://bucket", "a")));
        check("s3://bucket/team/runs/a/", Some(("s3://bucket/team", "a")));
        check("s3://bucket/team", None);
        check("s3://bucket", None);
        check("store/runs/a", Some(("store", "a")));
        check("runs/a", Some((".", "a")));
        check("store/other/a", None);
    }
}
