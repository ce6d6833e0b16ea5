//! What a query engine reads a place through: read-only, without a listing, and with parts of objects as files.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::sync::OnceCell;

use crate::failure::{explain, is_garbled};
use crate::part::Part;
use crate::place::Place;

/// Parts up to this size are read as a whole with the first question about them: a request costs more than its bytes.
const SMALL_BYTES: u64 = 1 << 20;

/// Bytes of small parts that are kept.
const KEPT_BYTES: u64 = 64 << 20;

/// How often a read is repeated whose answer ended early: the library repeats only what failed before its first byte.
const ATTEMPTS: usize = 4;

type Small = Arc<OnceCell<Bytes>>;

/// The objects below a place for a query engine.
pub(crate) struct EngineStore {
    place: Place,
    /// Rooted at the place.
    objects: Arc<dyn ObjectStore>,
    /// Small parts that were read, unless reading is as quick as remembering.
    small: Option<Mutex<SmallParts>>,
}

/// Small parts by their paths.
#[derive(Default)]
struct SmallParts {
    bytes: u64,
    parts: HashMap<String, Small>,
}

impl EngineStore {
    pub(crate) fn new(place: Place, objects: Arc<dyn ObjectStore>) -> Self {
        let small = place.provider().map(|_| Mutex::default());
        Self { place, objects, small }
    }

    /// The bytes of a part as a whole, read at most once; `None` for one that is too large for that.
    async fn whole(&self, part: &Part) -> Result<Option<Bytes>> {
        let Some(small) = self.small.as_ref().filter(|_| part.length() <= SMALL_BYTES) else { return Ok(None) };
        let cell = small.lock().unwrap_or_else(PoisonError::into_inner).place_of(part);
        let path = Path::parse(&part.key)?;
        let read = || self.read(&path, part.range.clone());
        cell.get_or_try_init(read).await.map(|bytes| Some(bytes.clone()))
    }

    /// Some bytes of a part.
    async fn some(&self, part: &Part, range: &Range<u64>) -> Result<Bytes> {
        match self.whole(part).await? {
            Some(whole) => Ok(cut(&whole, range)),
            None => self.read(&Path::parse(&part.key)?, part.inside(range)).await,
        }
    }

    async fn read(&self, path: &Path, range: Range<u64>) -> Result<Bytes> {
        self.read_all(path, &[range]).await.map(|mut found| found.pop().unwrap_or_default())
    }

    async fn read_all(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut attempt = 1;
        loop {
            match self.objects.get_ranges(path, ranges).await {
                Err(error) if attempt < ATTEMPTS && is_garbled(&error) => attempt += 1,
                outcome => return outcome.map_err(|error| self.explained(error, path)),
            }
        }
    }

    /// The error in our words: it goes through the engine, which would show it as it is.
    fn explained(&self, error: Error, path: &Path) -> Error {
        let Some(provider) = self.place.provider() else { return error };
        let source = explain(&error, provider, "read an object", self.place.name_of(path.as_ref()));
        Error::Generic { store: "store", source: Box::new(source) }
    }
}

impl SmallParts {
    /// Where the bytes of a part are or will be. When too much is kept, everything is let go of: what is still asked for
    /// comes back with one request each.
    fn place_of(&mut self, part: &Part) -> Small {
        let path = part.path("");
        if let Some(known) = self.parts.get(&path) {
            return Arc::clone(known);
        }
        if self.bytes + part.length() > KEPT_BYTES {
            self.parts.clear();
            self.bytes = 0;
        }
        self.bytes += part.length();
        Arc::clone(self.parts.entry(path).or_default())
    }
}

#[async_trait]
impl ObjectStore for EngineStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(part) = Part::parse(location.as_ref()) else {
            return self.objects.get_opts(location, options).await.map_err(|error| self.explained(error, location));
        };
        let asked = match &options.range {
            Some(range) => range
                .as_range(part.length())
                .map_err(|error| Error::Generic { store: "store", source: Box::new(error) })?,
            None => 0..part.length(),
        };
        // The path says how large the part is: to look at it costs no request.
        let bytes = if options.head { Bytes::new() } else { self.some(&part, &asked).await? };
        let meta = ObjectMeta {
            location: location.clone(),
            // What a part holds never changes.
            last_modified: UNIX_EPOCH.into(),
            size: part.length(),
            e_tag: None,
            version: None,
        };
        let payload = GetResultPayload::Stream(stream::once(async move { Ok(bytes) }).boxed());
        Ok(GetResult { payload, meta, range: asked, attributes: Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Some(part) = Part::parse(location.as_ref()) else { return self.read_all(location, ranges).await };
        if let Some(whole) = self.whole(&part).await? {
            return Ok(ranges.iter().map(|range| cut(&whole, range)).collect());
        }
        let places: Vec<Range<u64>> = ranges.iter().map(|range| part.inside(range)).collect();
        self.read_all(&Path::parse(&part.key)?, &places).await
    }

    async fn put_opts(&self, location: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only(location))
    }

    async fn put_multipart_opts(&self, location: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only(location))
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        locations.and_then(|location| async move { Err(read_only(&location)) }).boxed()
    }

    /// The engine is told every file. A listing would be a request that nobody asked for.
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let path = prefix.cloned().unwrap_or_default();
        stream::once(async move { Err(Error::NotFound { path: path.to_string(), source: "no such object".into() }) })
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        Err(read_only(&prefix.cloned().unwrap_or_default()))
    }

    async fn copy_opts(&self, _: &Path, to: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only(to))
    }
}

impl fmt::Display for EngineStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.place)
    }
}

impl fmt::Debug for EngineStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EngineStore").field("place", &self.place).finish_non_exhaustive()
    }
}

fn cut(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
    let (from, to) = (at(range.start), at(range.end));
    bytes.slice(from..to.max(from))
}

fn read_only(location: &Path) -> Error {
    Error::NotSupported { source: format!("a store is read-only for queries: {location}").into() }
}
