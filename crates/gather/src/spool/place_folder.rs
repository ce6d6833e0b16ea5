//! The folder of one place in a spool: its packs, and where they go.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_objects::{Bucket, Place, UNWATCHED};
use stepscope_store::disk;
use stepscope_store::pack::PackName;
use twox_hash::XxHash3_128;

use crate::error::GatherError;

/// The file that says where packs go.
const PLACE_FILE: &str = "place";

/// How often a pack is moved into a folder that another process removes because it was empty.
const ATTEMPTS: usize = 16;

/// The packs of one place.
#[derive(Clone, Debug)]
pub(crate) struct PlaceFolder {
    folder: PathBuf,
}

/// A pack that waits for its upload.
#[derive(Clone, Debug)]
pub(crate) struct PendingPack {
    /// Key of its object.
    pub(crate) key: String,
    /// What the key says.
    pub(crate) name: PackName,
    /// Its size.
    pub(crate) size_bytes: u64,
    /// When it was written, since 1970.
    pub(crate) modified_ns: i64,
}

impl PlaceFolder {
    /// The folder of a place, made and on disk if it is new. `temporary` is a folder in the same spool.
    pub(super) fn create(root: &Path, place: &Place, temporary: &Path) -> Result<Self, GatherError> {
        let text = text_of(place)?;
        let mut hasher = XxHash3_128::with_seed(0);
        hasher.write(text.as_bytes());
        let found = Self { folder: root.join(format!("{:032x}", hasher.finish_128())) };
        let path = found.folder.join(PLACE_FILE);
        if !path.is_file() {
            disk::write_atomically(&temporary.join(PLACE_FILE), &path, text.as_bytes())?;
        }
        Ok(found)
    }

    /// Every folder of a spool, sorted; none for a spool that is not there yet.
    pub(crate) fn all(root: &Path) -> Result<Vec<Self>, GatherError> {
        let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let paths = disk::list(root)?.into_iter().filter(|path| !is_hidden(path) && path.is_dir());
        Ok(paths.map(|folder| Self { folder }).collect())
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Where its packs go.
    pub(crate) fn place(&self) -> Result<Place, GatherError> {
        let path = self.folder.join(PLACE_FILE);
        let unknown = |reason: String| GatherError::UnknownPlace { reason, path: path.clone() };
        let text = fs::read_to_string(&path).map_err(|error| unknown(error.to_string()))?;
        Place::parse(text.trim_end_matches('\n')).map_err(|error| unknown(error.to_string()))
    }

    /// Its packs, sorted by key. What else is there is none of our business.
    pub(crate) fn packs(&self) -> Result<Vec<PendingPack>, GatherError> {
        let files = Bucket::open(&Place::Folder(self.folder.clone()))?.list("runs", UNWATCHED)?;
        let pack = |entry: stepscope_objects::Entry| {
            let (_run, name) = PackName::parse(&entry.key)?;
            Some(PendingPack { key: entry.key, name, size_bytes: entry.size_bytes, modified_ns: entry.modified_ns })
        };
        Ok(files.into_iter().filter_map(pack).collect())
    }

    /// Where a pack is.
    pub(crate) fn file_of(&self, key: &str) -> PathBuf {
        key.split('/').fold(self.folder.clone(), |path, part| path.join(part))
    }

    /// Moves a finished pack to its name; from then on it is kept, also after a crash.
    pub(super) fn accept(&self, pack: &Path, key: &str) -> Result<PathBuf, GatherError> {
        let target = self.file_of(key);
        let mut outcome = disk::move_into_place(pack, &target);
        for _ in 1..ATTEMPTS {
            // Removing an empty folder can be faster than moving something into it.
            if outcome.is_ok() || !pack.exists() {
                break;
            }
            outcome = disk::move_into_place(pack, &target);
        }
        outcome?;
        Ok(target)
    }

    /// Removes a pack, and the folders that are empty without it.
    pub(crate) fn remove(&self, key: &str) -> Result<(), GatherError> {
        let path = self.file_of(key);
        match fs::remove_file(&path) {
            // If the machine crashes now, the pack is sent twice, which does no harm.
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(GatherError::io("remove a pack", &path)(error)),
        }
        let above = path.ancestors().skip(1).take_while(|above| *above != self.folder);
        for folder in above {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// The text of a place, from which any process finds it, wherever it was started.
fn text_of(place: &Place) -> Result<String, GatherError> {
    let refuse = || GatherError::BadPlace { place: place.to_string() };
    let absolute = match place {
        Place::Folder(folder) => Place::Folder(std::path::absolute(folder).map_err(|_| refuse())?),
        Place::Bucket { .. } => place.clone(),
    };
    let text = absolute.to_string();
    let is_found_again = !text.ends_with('\n') && Place::parse(&text).is_ok_and(|parsed| parsed == absolute);
    if is_found_again { Ok(text) } else { Err(refuse()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_place_leads_back_to_it() {
        let check = |place: Place, want: Option<&str>| assert_eq!(text_of(&place).ok().as_deref(), want, "{place}");
        check(Place::parse("s3://bucket/a").unwrap(), Some("s3://bucket/a"));
        check(Place::parse("/a/b").unwrap(), Some("/a/b"));
        let here = std::env::current_dir().unwrap().join("b").display().to_string();
        check(Place::parse("b").unwrap(), Some(&here));
        check(Place::Folder("/a\n".into()), None);
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            check(Place::Folder(Path::new(std::ffi::OsStr::from_bytes(b"/\xff")).to_owned()), None);
        }
    }
}
