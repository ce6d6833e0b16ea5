//! Objects below a place, with calls that wait for their answer.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use crate::cloud::Cloud;
use crate::engine_store::EngineStore;
use crate::entry::{Entry, Put};
use crate::error::ObjectError;
use crate::folder::Folder;
use crate::place::{self, Place};
use crate::settings::Settings;
use crate::stream::ObjectStream;
use crate::watch::{UNWATCHED, Watch};

/// The objects below a place. Cheap to clone; clones share one thread for requests.
#[derive(Clone, Debug)]
pub struct Bucket {
    place: Place,
    backend: Arc<Backend>,
}

#[derive(Debug)]
enum Backend {
    Folder(Folder),
    Cloud(Box<Cloud>),
}

impl Bucket {
    /// The objects below a place, reached as the environment says. Sends nothing.
    pub fn open(place: &Place) -> Result<Self, ObjectError> {
        Self::open_with(place, &Settings::from_env())
    }

    /// The same with other settings.
    pub fn open_with(place: &Place, settings: &Settings) -> Result<Self, ObjectError> {
        let backend = match place {
            Place::Folder(folder) => Backend::Folder(Folder::new(folder.clone())),
            Place::Bucket { provider, bucket, prefix } => {
                Backend::Cloud(Box::new(Cloud::open(place, *provider, bucket, prefix, settings)?))
            }
        };
        Ok(Self { place: place.clone(), backend: Arc::new(backend) })
    }

    /// Where they are.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Creates an object, for names that stand for their content. One with the same name and size is success: a store
    /// reports it even for an object that this call itself stored, if the first answer was lost. Succeeds only after the
    /// object was seen.
    pub fn put_new(&self, key: &str, bytes: impl Into<Bytes>) -> Result<Put, ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.put_new(key, &bytes.into()),
            Backend::Cloud(cloud) => cloud.put_new(key, bytes.into(), UNWATCHED),
        }
    }

    /// Creates an object from a file of any size: above 64 MiB in parts of 16 MiB, below like [`Self::put_new`]. In
    /// parts there is no condition, so the name must stand for the content. Parts of an upload that was canceled stay in
    /// the bucket until its own rule for incomplete uploads removes them.
    pub fn put_parts(&self, key: &str, file: &Path, watch: Watch<'_>) -> Result<Put, ObjectError> {
        check(key)?;
        let source = File::open(file).map_err(ObjectError::io("open a file", file))?;
        match &*self.backend {
            Backend::Folder(folder) => folder.put_file(key, &source, file, watch),
            Backend::Cloud(cloud) => cloud.put_parts(key, source, file, watch),
        }
    }

    /// Writes an object, over the one that is there.
    pub fn put(&self, key: &str, bytes: impl Into<Bytes>) -> Result<(), ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.put(key, &bytes.into()),
            Backend::Cloud(cloud) => cloud.put(key, bytes.into()),
        }
    }

    /// The bytes of an object.
    pub fn get(&self, key: &str, watch: Watch<'_>) -> Result<Bytes, ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.get(key, watch),
            Backend::Cloud(cloud) => cloud.get(key, watch),
        }
    }

    /// Some bytes of an object, all of them or an error.
    pub fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, ObjectError> {
        let mut found = self.get_ranges(key, std::slice::from_ref(&range))?;
        Ok(found.pop().unwrap_or_default())
    }

    /// Several ranges of an object, in the order they were asked for. Ranges that are near are read with one request.
    pub fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ObjectError> {
        check(key)?;
        let found = match &*self.backend {
            Backend::Folder(folder) => folder.get_ranges(key, ranges)?,
            Backend::Cloud(cloud) => cloud.get_ranges(key, ranges)?,
        };
        for (bytes, range) in found.iter().zip(ranges) {
            let (found, expected) = (bytes.len() as u64, range.end.saturating_sub(range.start));
            if found != expected {
                return Err(ObjectError::Short { found, expected, at: self.place.name_of(key) });
            }
        }
        Ok(found)
    }

    /// Size and time of an object; `None` if there is none.
    pub fn head(&self, key: &str) -> Result<Option<Entry>, ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.head(key),
            Backend::Cloud(cloud) => cloud.head(key),
        }
    }

    /// Every object below a folder of keys, or below the place if `prefix` is empty, sorted by key.
    pub fn list(&self, prefix: &str, watch: Watch<'_>) -> Result<Vec<Entry>, ObjectError> {
        self.list_from(prefix, None, watch)
    }

    /// The same without keys up to `offset`, which are not read either.
    pub fn list_offset(&self, prefix: &str, offset: &str, watch: Watch<'_>) -> Result<Vec<Entry>, ObjectError> {
        check(offset)?;
        self.list_from(prefix, Some(offset), watch)
    }

    /// The folders of keys directly below one: the next part of the keys that have more parts, sorted.
    pub fn folders(&self, prefix: &str, watch: Watch<'_>) -> Result<Vec<String>, ObjectError> {
        if !prefix.is_empty() {
            check(prefix)?;
        }
        let mut found = match &*self.backend {
            Backend::Folder(folder) => folder.folders(prefix)?,
            Backend::Cloud(cloud) => cloud.folders(prefix, watch)?,
        };
        found.sort_unstable();
        Ok(found)
    }

    /// The bytes of an object one after another, a few mebibytes ahead of whoever reads them.
    #[must_use]
    pub fn stream(&self, key: &str, size_bytes: u64) -> ObjectStream {
        let (bucket, key) = (self.clone(), key.to_owned());
        ObjectStream::start(size_bytes, move |range| bucket.get_range(&key, range))
    }

    /// What a query engine reads the objects through, on its own threads: paths are keys, or those of a
    /// [`Part`](crate::Part). It cannot write.
    pub fn for_engine(&self) -> Result<Arc<dyn ObjectStore>, ObjectError> {
        let objects: Arc<dyn ObjectStore> = match (&*self.backend, &self.place) {
            (Backend::Cloud(cloud), _) => cloud.another_client()?,
            (Backend::Folder(_), place) => {
                let root = std::path::absolute(place.folder().unwrap_or(Path::new(".")));
                let root = root.map_err(ObjectError::io("find the folder", Path::new(".")))?;
                let files = LocalFileSystem::new_with_prefix(&root);
                Arc::new(
                    files.map_err(|error| ObjectError::io("open the folder", &root)(std::io::Error::other(error)))?,
                )
            }
        };
        Ok(Arc::new(EngineStore::new(self.place.clone(), objects)))
    }

    /// Removes an object; one that is not there is no error.
    pub fn delete(&self, key: &str) -> Result<(), ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.delete(key),
            Backend::Cloud(cloud) => cloud.delete(key),
        }
    }

    /// Whether the store accepted to create an object, whatever it had before.
    pub(crate) fn is_created(&self, key: &str, bytes: Bytes) -> Result<bool, ObjectError> {
        check(key)?;
        match &*self.backend {
            Backend::Folder(folder) => folder.is_created(key, &bytes),
            Backend::Cloud(cloud) => cloud.is_created(key, bytes),
        }
    }

    fn list_from(&self, prefix: &str, offset: Option<&str>, watch: Watch<'_>) -> Result<Vec<Entry>, ObjectError> {
        if !prefix.is_empty() {
            check(prefix)?;
        }
        let mut found = match &*self.backend {
            Backend::Folder(folder) => folder.list(prefix, watch)?,
            Backend::Cloud(cloud) => cloud.list(prefix, offset, watch)?,
        };
        // Azure reads offsets only in new versions, and a folder not at all.
        found.retain(|entry| offset.is_none_or(|offset| entry.key.as_str() > offset));
        found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }
}

fn check(key: &str) -> Result<(), ObjectError> {
    let refuse = |reason| ObjectError::BadKey { reason, key: key.to_owned() };
    place::check_key(key).map_err(refuse)?;
    // In a folder such names belong to files that are not finished.
    if key.split('/').any(|part| part.starts_with('.')) {
        return Err(refuse("found a part that begins with a dot".to_owned()));
    }
    Ok(())
}
