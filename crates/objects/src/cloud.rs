//! Objects in a bucket.

mod upload;

use std::fs::File;
use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use crate::entry::{Entry, Put};
use crate::error::ObjectError;
use crate::failure::{explain, is_garbled, is_unclear};
use crate::place::Place;
use crate::provider::Provider;
use crate::runtime::{RequestThread, Stop};
use crate::settings::Settings;
use crate::watch::{UNWATCHED, Watch};

/// How often a request is repeated that failed in a way after which the library gives up.
const ATTEMPTS: u32 = 6;

/// The client of a bucket.
#[derive(Debug)]
pub(crate) struct Cloud {
    place: Place,
    provider: Provider,
    prefix: String,
    bucket: String,
    settings: Settings,
    store: Arc<dyn ObjectStore>,
    thread: RequestThread,
    patience: Patience,
}

/// How long to go on with requests after the library gave up.
#[derive(Clone, Copy, Debug)]
struct Patience {
    first_wait: Duration,
    total: Duration,
}

/// How the creation of an object ended.
enum Creation {
    Done(Put),
    Taken(u64),
}

impl Cloud {
    pub(crate) fn open(
        place: &Place,
        provider: Provider,
        bucket: &str,
        prefix: &str,
        settings: &Settings,
    ) -> Result<Self, ObjectError> {
        let store = settings.connect(place, provider, bucket)?;
        let thread = RequestThread::start().map_err(|source| ObjectError::Io {
            action: "start a thread for requests",
            path: "".into(),
            source,
        })?;
        let patience = Patience { first_wait: settings.first_wait, total: settings.retry_for };
        let (prefix, bucket, settings) = (prefix.to_owned(), bucket.to_owned(), settings.clone());
        Ok(Self { place: place.clone(), provider, prefix, bucket, settings, store, thread, patience })
    }

    /// A client with connections of its own, rooted at the place: connections belong to the threads that opened them.
    pub(crate) fn another_client(&self) -> Result<Arc<dyn ObjectStore>, ObjectError> {
        let store = self.settings.connect(&self.place, self.provider, &self.bucket)?;
        Ok(if self.prefix.is_empty() { store } else { Arc::new(PrefixStore::new(store, self.path("")?)) })
    }

    pub(crate) fn put_new(&self, key: &str, bytes: Bytes, watch: Watch<'_>) -> Result<Put, ObjectError> {
        let expected = bytes.len() as u64;
        let (store, path, patience) = (Arc::clone(&self.store), self.path(key)?, self.patience);
        let task = async move { create(&*store, &path, bytes, patience).await };
        match self.ask("create an object", key, watch, task)? {
            Creation::Done(put) => Ok(put),
            Creation::Taken(found) => Err(ObjectError::Taken { found, expected, at: self.place.name_of(key) }),
        }
    }

    pub(crate) fn is_created(&self, key: &str, bytes: Bytes) -> Result<bool, ObjectError> {
        let (store, path) = (Arc::clone(&self.store), self.path(key)?);
        let task = async move {
            match store.put_opts(&path, PutPayload::from(bytes), PutMode::Create.into()).await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.ask("create an object", key, UNWATCHED, task)
    }

    pub(crate) fn put_parts(&self, key: &str, file: File, name: &Path, watch: Watch<'_>) -> Result<Put, ObjectError> {
        let size = file.metadata().map_err(ObjectError::io("read a file", name))?.len();
        if size <= upload::IN_PARTS_ABOVE {
            let bytes = upload::read_at(&file, 0..size).map_err(ObjectError::io("read a file", name))?;
            return self.put_new(key, bytes, watch);
        }
        // There is no condition in parts. What an earlier run uploaded is not sent again.
        if let Some(there) = self.head(key)? {
            let (found, at) = (there.size_bytes, self.place.name_of(key));
            return if found == size { Ok(Put::Found) } else { Err(ObjectError::Taken { found, expected: size, at }) };
        }
        let (store, path, done) = (Arc::clone(&self.store), self.path(key)?, Arc::default());
        let (counted, patience) = (Arc::clone(&done), self.patience);
        let task = async move { upload::in_parts(store, path, file, size, counted, patience).await };
        let answer = self.thread.wait(watch, &done, task).map_err(|stop| self.stopped(stop, key))?;
        answer.map(|()| Put::Created).map_err(|failure| match failure {
            upload::Failure::File(error) => ObjectError::io("read a file", name)(error),
            upload::Failure::Store(error) => self.explain(&error, "upload an object", key),
        })
    }

    pub(crate) fn put(&self, key: &str, bytes: Bytes) -> Result<(), ObjectError> {
        let (store, path) = (Arc::clone(&self.store), self.path(key)?);
        let task = async move { store.put(&path, PutPayload::from(bytes)).await.map(drop) };
        self.ask("write an object", key, UNWATCHED, task)
    }

    pub(crate) fn get(&self, key: &str, watch: Watch<'_>) -> Result<Bytes, ObjectError> {
        let (store, path, done) = (Arc::clone(&self.store), self.path(key)?, Arc::<AtomicU64>::default());
        let counted = Arc::clone(&done);
        let task = async move {
            let found = store.get(&path).await?;
            let size = found.meta.size;
            let mut body = found.into_stream();
            // The size is the store's word: memory grows with what comes.
            let mut bytes = BytesMut::with_capacity(size.min(64 << 20) as usize);
            while let Some(chunk) = body.try_next().await? {
                counted.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                bytes.extend_from_slice(&chunk);
            }
            Ok((size, bytes.freeze()))
        };
        let answer = self.thread.wait(watch, &done, task).map_err(|stop| self.stopped(stop, key))?;
        let (expected, bytes) = answer.map_err(|error| self.explain(&error, "read an object", key))?;
        let found = bytes.len() as u64;
        if found != expected {
            return Err(ObjectError::Short { found, expected, at: self.place.name_of(key) });
        }
        Ok(bytes)
    }

    pub(crate) fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ObjectError> {
        // An empty range is not a request that HTTP has.
        let wanted: Vec<Range<u64>> = ranges.iter().filter(|range| range.start < range.end).cloned().collect();
        let (store, path) = (Arc::clone(&self.store), self.path(key)?);
        let task = async move { store.get_ranges(&path, &wanted).await };
        let mut found = self.ask("read an object", key, UNWATCHED, task)?.into_iter();
        let bytes_of = |range: &Range<u64>| {
            if range.start < range.end { found.next().unwrap_or_default() } else { Bytes::new() }
        };
        Ok(ranges.iter().map(bytes_of).collect())
    }

    pub(crate) fn head(&self, key: &str) -> Result<Option<Entry>, ObjectError> {
        let (store, path) = (Arc::clone(&self.store), self.path(key)?);
        let task = async move { store.head(&path).await };
        match self.ask("look for an object", key, UNWATCHED, task) {
            Ok(meta) => Ok(Some(self.entry(&meta))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn list(&self, prefix: &str, offset: Option<&str>, watch: Watch<'_>) -> Result<Vec<Entry>, ObjectError> {
        let (store, path) = (Arc::clone(&self.store), self.path(prefix)?);
        let (offset, patience) = (offset.map(|offset| self.path(offset)).transpose()?, self.patience);
        let task = async move { list(&*store, &path, offset, patience).await };
        let found = self.ask("list objects", prefix, watch, task)?;
        Ok(found.iter().map(|meta| self.entry(meta)).collect())
    }

    pub(crate) fn folders(&self, prefix: &str, watch: Watch<'_>) -> Result<Vec<String>, ObjectError> {
        let (store, path, patience) = (Arc::clone(&self.store), self.path(prefix)?, self.patience);
        let task = async move { folders(&*store, &path, patience).await };
        let found = self.ask("list objects", prefix, watch, task)?;
        Ok(found.iter().filter_map(|folder| folder.filename()).map(str::to_owned).collect())
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let (store, path) = (Arc::clone(&self.store), self.path(key)?);
        let task = async move { store.delete(&path).await };
        match self.ask("delete an object", key, UNWATCHED, task) {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        action: &'static str,
        key: &str,
        watch: Watch<'_>,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, ObjectError> {
        let answer = self.thread.wait(watch, &AtomicU64::new(0), task).map_err(|stop| self.stopped(stop, key))?;
        answer.map_err(|error| self.explain(&error, action, key))
    }

    fn explain(&self, error: &Error, action: &'static str, key: &str) -> ObjectError {
        explain(error, self.provider, action, self.place.name_of(key))
    }

    fn stopped(&self, stop: Stop, key: &str) -> ObjectError {
        let at = self.place.name_of(key);
        match stop {
            Stop::Canceled => ObjectError::Canceled { at },
            Stop::Lost => ObjectError::Lost { at },
        }
    }

    /// Keys were checked, but a place can be put together without a check.
    fn path(&self, key: &str) -> Result<ObjectPath, ObjectError> {
        let parts = self.prefix.split('/').chain(key.split('/')).filter(|part| !part.is_empty());
        let whole = parts.collect::<Vec<_>>().join("/");
        ObjectPath::parse(&whole).map_err(|error| ObjectError::BadKey { reason: error.to_string(), key: whole })
    }

    fn entry(&self, meta: &ObjectMeta) -> Entry {
        let whole = meta.location.as_ref();
        let key = whole.strip_prefix(&self.prefix).unwrap_or(whole).trim_start_matches('/');
        let modified_ns = meta.last_modified.timestamp_nanos_opt().unwrap_or(0);
        Entry { key: key.to_owned(), size_bytes: meta.size, modified_ns }
    }
}

/// Creates an object. When the store says that it is there, or the answer was lost, only a HEAD knows: the library
/// repeats a request whose answer was lost, and reports our own success as `AlreadyExists`; it reports a 409, after which
/// nothing may be stored, the same way (arrow-rs-object-store#852).
async fn create(
    store: &dyn ObjectStore,
    path: &ObjectPath,
    bytes: Bytes,
    patience: Patience,
) -> Result<Creation, Error> {
    let expected = bytes.len() as u64;
    let mut attempts = Attempts::new(patience);
    loop {
        let error = match store.put_opts(path, PutPayload::from(bytes.clone()), PutMode::Create.into()).await {
            Ok(_) => return Ok(Creation::Done(Put::Created)),
            Err(error @ Error::AlreadyExists { .. }) => error,
            Err(error) if is_unclear(&error) => error,
            Err(error) => return Err(error),
        };
        match store.head(path).await {
            Ok(meta) if meta.size == expected => return Ok(Creation::Done(Put::Found)),
            Ok(meta) => return Ok(Creation::Taken(meta.size)),
            Err(Error::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
        if !attempts.pause().await {
            return Err(error);
        }
    }
}

/// Every page of a listing. The library does not repeat a page whose answer ended early.
async fn list(
    store: &dyn ObjectStore,
    prefix: &ObjectPath,
    offset: Option<ObjectPath>,
    patience: Patience,
) -> Result<Vec<ObjectMeta>, Error> {
    let mut found: Vec<ObjectMeta> = Vec::new();
    let mut attempts = Attempts::new(patience);
    loop {
        // Pages come in order, so the last key is where to go on.
        let from = found.iter().map(|meta| meta.location.clone()).max().or_else(|| offset.clone());
        let mut pages = match &from {
            Some(from) => store.list_with_offset(Some(prefix), from),
            None => store.list(Some(prefix)),
        };
        let failed = loop {
            match pages.try_next().await {
                Ok(Some(meta)) => found.push(meta),
                Ok(None) => return Ok(found),
                Err(error) => break error,
            }
        };
        if !(is_garbled(&failed) || is_unclear(&failed)) || !attempts.pause().await {
            return Err(failed);
        }
    }
}

/// The folders of a listing, which is repeated as a whole if an answer ended early.
async fn folders(store: &dyn ObjectStore, prefix: &ObjectPath, patience: Patience) -> Result<Vec<ObjectPath>, Error> {
    let mut attempts = Attempts::new(patience);
    loop {
        match store.list_with_delimiter(Some(prefix)).await {
            Ok(found) => return Ok(found.common_prefixes),
            Err(error) if (is_garbled(&error) || is_unclear(&error)) && attempts.pause().await => {}
            Err(error) => return Err(error),
        }
    }
}

/// Counts repetitions of a request.
struct Attempts {
    patience: Patience,
    begin: Instant,
    count: u32,
}

impl Attempts {
    fn new(patience: Patience) -> Self {
        Self { patience, begin: Instant::now(), count: 0 }
    }

    /// Waits before the next attempt; false when there should be none.
    async fn pause(&mut self) -> bool {
        self.count += 1;
        let wait = self.patience.first_wait.saturating_mul(1 << self.count.min(6));
        let goes_on = self.count < ATTEMPTS && self.begin.elapsed() + wait < self.patience.total;
        if goes_on {
            tokio::time::sleep(wait).await;
        }
        goes_on
    }
}
