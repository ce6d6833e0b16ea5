//! Parts of objects that a worker keeps on its disk, for queries that read them again.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use stepscope_objects::Part;
use twox_hash::{XxHash3_64, XxHash3_128};

/// Bytes behind what is kept: a hash of it.
const HASH_BYTES: usize = 8;

/// The ending of a file that is not complete yet.
const PARTIAL: &str = "partial";

/// A store whose parts are kept on disk. What a part holds never changes, so a file that is whole is right; one that was cut
/// off or damaged is read again from the store. A disk that fails costs time, never an answer.
pub(crate) struct DiskCache {
    objects: Arc<dyn ObjectStore>,
    files: Arc<Files>,
}

impl DiskCache {
    /// Keeps up to `limit_bytes` in a folder, which is made if it is not there.
    pub(crate) fn new(objects: Arc<dyn ObjectStore>, folder: PathBuf, limit_bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let files = Files { folder, limit_bytes, held: Mutex::default(), written: AtomicU64::default() };
        files.make_room(0);
        Ok(Self { objects, files: Arc::new(files) })
    }
}

/// The folder.
struct Files {
    folder: PathBuf,
    limit_bytes: u64,
    /// Bytes in the folder, as far as this process knows: others may share it.
    held: Mutex<u64>,
    /// Makes names of files on their way unique.
    written: AtomicU64,
}

impl Files {
    fn path(&self, location: &Path, range: &Range<u64>) -> PathBuf {
        let name = format!("{location}\n{}-{}", range.start, range.end);
        self.folder.join(format!("{:032x}", XxHash3_128::oneshot(name.as_bytes())))
    }

    fn read(&self, location: &Path, range: &Range<u64>) -> Option<Bytes> {
        let path = self.path(location, range);
        let mut bytes = fs::read(&path).ok()?;
        let hash = bytes.split_off(bytes.len().checked_sub(HASH_BYTES)?);
        let is_whole = hash == XxHash3_64::oneshot(&bytes).to_le_bytes();
        if !is_whole || bytes.len() as u64 != range.end.saturating_sub(range.start) {
            let _ = fs::remove_file(path);
            return None;
        }
        // The time says what was used last.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(bytes.into())
    }

    fn keep(&self, location: &Path, range: &Range<u64>, bytes: &[u8]) -> io::Result<()> {
        let size = (bytes.len() + HASH_BYTES) as u64;
        if size > self.limit_bytes {
            return Ok(());
        }
        self.make_room(size);
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let partial = self.folder.join(format!("{}-{number}.{PARTIAL}", std::process::id()));
        let kept = write_whole(&partial, bytes).and_then(|()| fs::rename(&partial, self.path(location, range)));
        if kept.is_err() {
            let _ = fs::remove_file(&partial);
        }
        kept
    }

    /// Lets go of what was not used for longest until `size` more fits, and a tenth of the limit with it.
    fn make_room(&self, size: u64) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held += size;
        if size > 0 && *held <= self.limit_bytes {
            return;
        }
        let mut files: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut sum: u64 = size + files.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
        let enough = if sum > self.limit_bytes { self.limit_bytes / 10 * 9 } else { self.limit_bytes };
        for (_, bytes, path) in files {
            if sum <= enough {
                break;
            }
            if fs::remove_file(path).is_ok() {
                sum -= bytes;
            }
        }
        *held = sum;
    }
}

fn write_whole(path: &FilePath, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.write_all(&XxHash3_64::oneshot(bytes).to_le_bytes())
}

#[async_trait]
impl ObjectStore for DiskCache {
    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if Part::parse(location.as_ref()).is_none() {
            return self.objects.get_ranges(location, ranges).await;
        }
        let (files, place, wanted) = (Arc::clone(&self.files), location.clone(), ranges.to_vec());
        let read = move || wanted.iter().map(|range| files.read(&place, range)).collect::<Vec<_>>();
        let mut found = tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| vec![None; ranges.len()]);
        let missing: Vec<Range<u64>> =
            ranges.iter().zip(&found).filter(|(_, kept)| kept.is_none()).map(|(range, _)| range.clone()).collect();
        if !missing.is_empty() {
            let read = self.objects.get_ranges(location, &missing).await?;
            let (files, place, kept) = (Arc::clone(&self.files), location.clone(), read.clone());
            // The query goes on meanwhile.
            tokio::task::spawn_blocking(move || {
                for (range, bytes) in missing.iter().zip(kept) {
                    if files.keep(&place, range, &bytes).is_err() {
                        break;
                    }
                }
            });
            let mut read = read.into_iter();
            for place in found.iter_mut().filter(|place| place.is_none()) {
                *place = read.next();
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.objects.get_opts(location, options).await
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

impl fmt::Display for DiskCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.objects)
    }
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DiskCache").field("folder", &self.files.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use stepscope_objects::{Bucket, Place};

    use super::*;

    const KEY: &str = "runs/a/in/0/0/a.pack";

    /// A store whose objects can be taken away, and its cache.
    fn store(folder: &FilePath, limit_bytes: u64) -> (Bucket, DiskCache) {
        fs::create_dir_all(folder.join("store")).unwrap();
        let bucket = Bucket::open(&Place::Folder(folder.join("store"))).unwrap();
        let cache = DiskCache::new(bucket.for_engine().unwrap(), folder.join("cache"), limit_bytes).unwrap();
        (bucket, cache)
    }

    fn location() -> Path {
        Path::parse(Part { key: KEY.to_owned(), range: 0..1000 }.path("steps.parquet")).unwrap()
    }

    async fn read(cache: &DiskCache, range: Range<u64>) -> Result<Bytes> {
        cache.get_ranges(&location(), std::slice::from_ref(&range)).await.map(|mut found| found.remove(0))
    }

    /// Whether so many files are there soon, each complete.
    async fn settled(folder: &FilePath, files: usize) -> bool {
        for _ in 0..500 {
            let names: Vec<_> =
                fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
            if names.len() == files && names.iter().all(|name| name.extension().is_none()) {
                return true;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn what_was_read_once_needs_the_store_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let (bucket, cache) = store(folder.path(), 1 << 20);
        let content: Vec<u8> = (0..1000_u32).map(|number| number as u8).collect();
        bucket.put_new(KEY, content.clone()).unwrap();
        let ranges = [0..100, 300..400];
        let first = cache.get_ranges(&location(), &ranges).await.unwrap();
        assert_eq!((&first[0][..], &first[1][..]), (&content[..100], &content[300..400]));
        assert!(settled(folder.path(), 2).await);
        // A range that is new comes beside those that are kept.
        let three = [0..100, 500..510, 300..400];
        let more = cache.get_ranges(&location(), &three).await.unwrap();
        assert_eq!((&more[0], &more[1][..], &more[2]), (&first[0], &content[500..510], &first[1]));
        assert!(settled(folder.path(), 3).await);
        fs::remove_dir_all(folder.path().join("store")).unwrap();
        assert_eq!(cache.get_ranges(&location(), &three).await.unwrap(), more);
        assert!(read(&cache, 0..1).await.is_err());
        // The same folder serves the next process.
        let (_, cache) = store(folder.path(), 1 << 20);
        assert_eq!(cache.get_ranges(&location(), &ranges).await.unwrap(), first);
    }

    #[tokio::test]
    async fn damaged_files_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (bucket, cache) = store(folder.path(), 1 << 20);
        bucket.put_new(KEY, vec![7; 1000]).unwrap();
        let right = read(&cache, 0..100).await.unwrap();
        for damage in [0, 50, 107, 108, 200] {
            assert!(settled(folder.path(), 1).await);
            let file = cache.files.path(&location(), &(0..100));
            let mut bytes = fs::read(&file).unwrap();
            match bytes.get_mut(damage) {
                Some(byte) => *byte ^= 1,
                None => bytes.resize(damage, 0),
            }
            fs::write(&file, bytes).unwrap();
            assert_eq!(read(&cache, 0..100).await.unwrap(), right, "{damage}");
        }
    }

    #[tokio::test]
    async fn the_folder_keeps_its_limit_and_what_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let (bucket, cache) = store(folder.path(), 500);
        bucket.put_new(KEY, vec![7; 1000]).unwrap();
        for start in 0..9 {
            assert_eq!(read(&cache, start * 100..(start + 1) * 100).await.unwrap().len(), 100);
            assert!(settled(folder.path(), [1, 2, 3, 4, 4, 4, 4, 4, 4][start as usize]).await);
            // The first is used all the time.
            assert!(cache.files.read(&location(), &(0..100)).is_some(), "{start}");
        }
        assert!(cache.files.read(&location(), &(100..200)).is_none());
        // What is larger than all of it is not kept.
        read(&cache, 0..900).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(settled(folder.path(), 4).await);
    }

    #[tokio::test]
    async fn a_full_disk_costs_no_answer() {
        let Some(disk) = stepscope_testkit::SmallDisk::mounted().unwrap() else { return };
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::open(&Place::Folder(folder.path().join("store"))).unwrap();
        bucket.put_new(KEY, vec![7; 1000]).unwrap();
        let cache = DiskCache::new(bucket.for_engine().unwrap(), disk.path().join("cache"), 1 << 30).unwrap();
        disk.fill(0).unwrap();
        assert_eq!(read(&cache, 0..100).await.unwrap().len(), 100);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(fs::read_dir(disk.path().join("cache")).unwrap().count(), 0);
    }
}
