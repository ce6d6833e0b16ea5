//! A trace as a file, or as an object of a bucket.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use stepscope_objects::{Bucket, ObjectError, Place, UNWATCHED};

use crate::error::IngestError;

/// What an address holds.
pub(crate) enum Found {
    /// An object.
    Object,
    /// Objects below it, by their addresses.
    Folder(Vec<PathBuf>),
}

/// The bytes of a trace, and how many they are.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn Read + Send>, u64), IngestError> {
    if Place::is_address(path) {
        let (bucket, key) = object(path)?;
        let found = bucket.head(&key).map_err(IngestError::Objects)?;
        let Some(entry) = found else { return Err(missing(path)) };
        return Ok((Box::new(bucket.stream(&key, entry.size_bytes)), entry.size_bytes));
    }
    let fail = |source| IngestError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    Ok((Box::new(file), size))
}

/// The size of a trace, where it is known without a request.
pub(crate) fn size(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| metadata.len())
}

/// Looks at an address.
pub(crate) fn look(path: &Path) -> Result<Found, IngestError> {
    let place = Place::of_path(path).map_err(IngestError::Objects)?;
    let bucket = Bucket::open(&place).map_err(IngestError::Objects)?;
    // Folders come first: some servers fail when they are asked for one as an object.
    let entries = bucket.list("", UNWATCHED).map_err(IngestError::Objects)?;
    let is_hidden = |key: &str| key.split('/').any(|part| part.starts_with('.'));
    let visible = entries.into_iter().filter(|entry| !is_hidden(&entry.key));
    let objects: Vec<PathBuf> = visible.map(|entry| format!("{place}/{}", entry.key).into()).collect();
    if !objects.is_empty() {
        return Ok(Found::Folder(objects));
    }
    let (bucket, key) = object(path)?;
    match bucket.head(&key).map_err(IngestError::Objects)? {
        Some(_) => Ok(Found::Object),
        None => Err(missing(path)),
    }
}

/// The bucket and key of an address.
fn object(path: &Path) -> Result<(Bucket, String), IngestError> {
    let place = Place::of_path(path).map_err(IngestError::Objects)?;
    let Place::Bucket { provider, bucket, prefix } = &place else { return Err(missing(path)) };
    if prefix.is_empty() {
        return Err(missing(path));
    }
    let whole = Place::Bucket { provider: *provider, bucket: bucket.clone(), prefix: String::new() };
    Ok((Bucket::open(&whole).map_err(IngestError::Objects)?, prefix.clone()))
}

fn missing(path: &Path) -> IngestError {
    IngestError::Objects(ObjectError::NotFound { at: path.display().to_string() })
}
