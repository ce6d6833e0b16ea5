//! Writes a recording into the spool: it is on disk as a whole, or it is not there.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stepscope_model::SourceRecord;
use stepscope_objects::Place;
use stepscope_store::owned::OwnedFolder;
use stepscope_store::pack::{Depth, PackName, write_pack};
use stepscope_store::{Store, disk};

use super::{PlaceFolder, Spool, TEMPORARY, refused};
use crate::error::GatherError;

/// A pack that is kept: the trace may be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Key of its object in the store.
    pub key: String,
    /// The file in the spool, until it is uploaded.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
}

/// A file that a pack is written to; tests bring files that fail.
trait PackFile: Write {
    /// Brings everything to disk.
    fn sync(&self) -> io::Result<()>;
}

impl PackFile for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Spool {
    /// Writes a source of a store as a pack that is to be uploaded to `place`. When this succeeds, the pack survives a
    /// crash. When the spool or its disk is full, or the disk fails, nothing is left of it, and the recording is counted
    /// as refused. Several processes that keep at once may exceed the limit by one pack each.
    pub fn keep(
        &self,
        store: &Store,
        record: &SourceRecord,
        depth: Depth,
        place: &Place,
    ) -> Result<Spooled, GatherError> {
        self.keep_as(store, record, depth, place, |path| File::create(path))
    }

    fn keep_as<F: PackFile>(
        &self,
        store: &Store,
        record: &SourceRecord,
        depth: Depth,
        place: &Place,
        create: impl FnOnce(&Path) -> io::Result<F>,
    ) -> Result<Spooled, GatherError> {
        let outcome = self.try_keep(store, record, depth, place, create).map_err(|error| error.in_spool(&self.root));
        if outcome.as_ref().is_err_and(GatherError::is_refusal) {
            refused::add(&self.root);
        }
        outcome
    }

    fn try_keep<F: PackFile>(
        &self,
        store: &Store,
        record: &SourceRecord,
        depth: Depth,
        place: &Place,
        create: impl FnOnce(&Path) -> io::Result<F>,
    ) -> Result<Spooled, GatherError> {
        disk::create_folders(&self.root)?;
        refused::prepare(&self.root)?;
        self.sweep();
        // What would be refused anyway is not written first.
        self.check_limit(1)?;
        let temporary = OwnedFolder::create(&self.root, TEMPORARY)
            .map_err(GatherError::io("create a temporary folder", &self.root))?;
        let folder = PlaceFolder::create(&self.root, place, temporary.path())?;
        let file_name = temporary.path().join("pack");
        let mut file = create(&file_name).map_err(GatherError::io("create a pack", &file_name))?;
        let size_bytes = write_pack(store, record, depth, &mut file, &file_name)?.size_bytes;
        file.sync().map_err(GatherError::io("write a pack to disk", &file_name))?;
        self.check_limit(size_bytes)?;
        let key = PackName::of(record, depth).object_key(&record.run);
        let path = folder.accept(&file_name, &key)?;
        Ok(Spooled { key, path, size_bytes })
    }

    fn check_limit(&self, more_bytes: u64) -> Result<(), GatherError> {
        let bytes = self.state()?.bytes.saturating_add(more_bytes);
        if bytes > self.limit_bytes {
            return Err(GatherError::Full { bytes, limit_bytes: self.limit_bytes, path: self.root.clone() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use stepscope_simulate::{Job, write_store};

    use super::*;

    /// A file whose disk fails after so many bytes, or when they are to be brought to it.
    struct FailingFile<'a> {
        file: File,
        good_bytes: &'a Cell<usize>,
        syncs: bool,
    }

    fn broken() -> io::Error {
        io::Error::from_raw_os_error(libc::EIO)
    }

    impl Write for FailingFile<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.good_bytes.get());
            if count == 0 && !bytes.is_empty() {
                return Err(broken());
            }
            self.good_bytes.set(self.good_bytes.get() - count);
            self.file.write(&bytes[..count])
        }

        fn flush(&mut self) -> io::Result<()> {
            self.file.flush()
        }
    }

    impl PackFile for FailingFile<'_> {
        fn sync(&self) -> io::Result<()> {
            if self.syncs { self.file.sync() } else { Err(broken()) }
        }
    }

    #[test]
    fn a_disk_that_fails_anywhere_leaves_no_part() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        write_store(&Job { ranks: 2, steps: 2, layers: 2, ..Job::default() }, &store, "run").unwrap();
        let records = store.sources("run").unwrap();
        let spool = Spool::at(&folder.path().join("spool"), 1 << 30);
        let place = Place::parse("s3://bucket").unwrap();
        let kept = spool.keep(&store, &records[0], Depth::Full, &place).unwrap();
        let size = kept.size_bytes as usize;
        // Sizes of packs of one job are about the same: the last of these fail when they are brought to disk.
        let steps = (0..20).map(|step| (step * size / 24, true)).chain([(2 * size, false)]);
        for (count, (good_bytes, syncs)) in steps.enumerate() {
            let good_bytes = Cell::new(good_bytes);
            let create = |path: &Path| Ok(FailingFile { file: File::create(path)?, good_bytes: &good_bytes, syncs });
            let error = spool.keep_as(&store, &records[1], Depth::Full, &place, create).unwrap_err();
            assert!(error.is_refusal(), "{error}");
            assert!(error.to_string().contains("Input/output error"), "{error}");
            let state = spool.state().unwrap();
            assert_eq!((state.packs, state.bytes, state.refused), (1, kept.size_bytes, count as u64 + 1));
            let hidden = fs::read_dir(spool.root()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(hidden.filter(|name| name.to_string_lossy().starts_with('.')).count(), 0);
        }
        let create = |_: &Path| Err::<File, _>(broken());
        spool.keep_as(&store, &records[1], Depth::Full, &place, create).unwrap_err();
        assert_eq!(spool.state().unwrap().refused, 22);
        spool.keep(&store, &records[1], Depth::Full, &place).unwrap();
        assert_eq!(spool.state().unwrap().packs, 2);
    }
}
