//! Reads what is merged of a pack.

use std::fmt;
use std::path::Path;

use stepscope_model::SourceRecord;
use stepscope_objects::{Bucket, Bytes, ObjectError, UNWATCHED};
use stepscope_store::StoreError;
use stepscope_store::pack::{Depth, Member, Pack, PackName};

use super::error::CompactError;

/// A pack of sums up to this size is read with one request.
const WHOLE_SUMS_BYTES: u64 = 8 << 20;

/// A pack of any depth up to this size is read with one request.
const WHOLE_BYTES: u64 = 256 << 10;

/// Why a pack is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// What is wrong with it.
    Refused(String),
    /// It was deleted.
    Gone,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => f.write_str(reason),
            Self::Gone => f.write_str("it is gone"),
        }
    }
}

/// A pack, and the bytes of its sums as far as they were asked for.
pub(super) struct Fetched {
    pub(super) pack: Pack,
    sums: Bytes,
    /// Where in the pack `sums` begins.
    from: u64,
}

impl Fetched {
    /// The bytes of a member that was asked for.
    pub(super) fn bytes(&self, member: &Member) -> Result<Bytes, StoreError> {
        let place = |at: u64| at.checked_sub(self.from).and_then(|at| usize::try_from(at).ok());
        let range = member.range();
        let bytes = match place(range.start).zip(place(range.end)) {
            Some((start, end)) if end <= self.sums.len() => self.sums.slice(start..end),
            _ => Bytes::new(),
        };
        self.pack.check(member, &bytes).map(|()| bytes)
    }
}

/// Reads a pack and those of its sums that are wanted: one request for a small one, else two.
pub(super) fn sums(
    bucket: &Bucket,
    run: &str,
    name: &PackName,
    size_bytes: u64,
    is_wanted: impl Fn(&Member) -> bool,
) -> Result<Result<Fetched, Bad>, CompactError> {
    let key = name.object_key(run);
    let fetched = || {
        let is_whole = size_bytes <= WHOLE_BYTES || (name.depth == Depth::Sums && size_bytes <= WHOLE_SUMS_BYTES);
        if is_whole {
            let whole = bucket.get(&key, UNWATCHED)?;
            let pack = Pack::read(Path::new(&key), whole.len() as u64, |range| {
                Ok::<_, StoreError>(whole.slice(range.start as usize..range.end as usize))
            })?;
            check_name(&pack, name, &key)?;
            let (from, sums) = (pack.sums.start, whole.slice(pack.sums.start as usize..pack.sums.end as usize));
            return Ok(Fetched { pack, sums, from });
        }
        let pack = open(bucket, name, &key, size_bytes)?;
        let ranges = pack.members.iter().filter(|member| is_wanted(member)).map(Member::range);
        let stretch = ranges.reduce(|all, range| all.start.min(range.start)..all.end.max(range.end)).unwrap_or(0..0);
        let from = stretch.start;
        let sums = bucket.get_range(&key, stretch)?;
        Ok(Fetched { pack, sums, from })
    };
    sort_out(fetched())
}

/// Reads the record of a pack.
pub(super) fn record(
    bucket: &Bucket,
    run: &str,
    name: &PackName,
    size_bytes: u64,
) -> Result<Result<SourceRecord, Bad>, CompactError> {
    sort_out(open(bucket, name, &name.object_key(run), size_bytes).map(|pack| pack.record))
}

fn open(bucket: &Bucket, name: &PackName, key: &str, size_bytes: u64) -> Result<Pack, StoreError> {
    let pack = Pack::read(Path::new(key), size_bytes, |range| Ok::<_, StoreError>(bucket.get_range(key, range)?))?;
    check_name(&pack, name, key)?;
    Ok(pack)
}

/// A pack under the name of another one would be merged as that one.
fn check_name(pack: &Pack, name: &PackName, key: &str) -> Result<(), StoreError> {
    let own = PackName::of(&pack.record, name.depth);
    if (own.id, own.key) == (name.id, name.key) {
        return Ok(());
    }
    Err(StoreError::CorruptPack { reason: "it has the name of another pack".to_owned(), path: key.into() })
}

/// Tells what is wrong with a pack from what is wrong with the way to it.
pub(crate) fn sort_out<T>(outcome: Result<T, StoreError>) -> Result<Result<T, Bad>, CompactError> {
    match outcome {
        Ok(found) => Ok(Ok(found)),
        Err(error) if error.is_not_found() => Ok(Err(Bad::Gone)),
        Err(
            error @ (StoreError::CorruptPack { .. }
            | StoreError::CorruptRecord { .. }
            | StoreError::WrongVersion { .. }
            | StoreError::WrongColumns { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Objects(ObjectError::Short { .. })),
        ) => Ok(Err(Bad::Refused(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}
