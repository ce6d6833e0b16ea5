//! Finds the newest manifest. `latest` may be missing, stale or wrong: it saves requests and decides nothing.

use stepscope_objects::{Bucket, UNWATCHED, parallel};

use super::{FORMAT, Manifest, folder, key, latest_key, number_of};
use crate::error::StoreError;
use crate::json_object;

/// Manifests that are read one after the other before a listing is cheaper.
const STEPS_MAX: u64 = 16;

/// What the objects are called in errors.
const WHAT: &str = "manifest";

/// The newest manifest of a run; `None` if it has none yet. Three requests in two rounds when `latest` is right.
pub fn read_newest(bucket: &Bucket, run: &str) -> Result<Option<Manifest>, StoreError> {
    let hinted = match bucket.get(&latest_key(run), UNWATCHED) {
        Ok(bytes) => std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<u64>().ok()),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    // Nothing but the first one tells a run without manifests from one whose hint was not written.
    let Some(n) = hinted else {
        let Some(first) = read(bucket, run, 1)? else { return Ok(None) };
        return follow(bucket, run, first);
    };
    let mut both = parallel::each(&[n, n.saturating_add(1)], |n| read(bucket, run, *n))?.into_iter();
    match (both.next().flatten(), both.next().flatten()) {
        (Some(manifest), None) => Ok(Some(manifest)),
        (_, Some(next)) => follow(bucket, run, next),
        (None, None) => from_listing(bucket, run),
    }
}

/// One manifest; `None` if there is none of that number.
pub fn read(bucket: &Bucket, run: &str, n: u64) -> Result<Option<Manifest>, StoreError> {
    let key = key(run, n);
    let bytes = match bucket.get(&key, UNWATCHED) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let value = json_object::parse(WHAT, FORMAT, &bytes, &key)?;
    let manifest: Manifest = json_object::decode(WHAT, value, &key)?;
    match manifest.problem(run, n) {
        Some(reason) => Err(StoreError::CorruptObject { what: WHAT, reason, key }),
        None => Ok(Some(manifest)),
    }
}

/// The newest manifest, from one that may be older.
fn follow(bucket: &Bucket, run: &str, manifest: Manifest) -> Result<Option<Manifest>, StoreError> {
    walk(bucket, run, manifest)?.map_or_else(|| from_listing(bucket, run), |newest| Ok(Some(newest)))
}

/// Follows the numbers until there is no next one; `None` if that takes too long.
fn walk(bucket: &Bucket, run: &str, mut manifest: Manifest) -> Result<Option<Manifest>, StoreError> {
    for _ in 0..STEPS_MAX {
        match read(bucket, run, manifest.n + 1)? {
            Some(next) => manifest = next,
            None => return Ok(Some(manifest)),
        }
    }
    Ok(None)
}

fn from_listing(bucket: &Bucket, run: &str) -> Result<Option<Manifest>, StoreError> {
    loop {
        let listed = bucket.list(&folder(run), UNWATCHED)?;
        let Some(last) = listed.iter().filter_map(|entry| number_of(&entry.key)).max() else { return Ok(None) };
        // One that was listed and is gone was deleted with everything else of the run.
        let Some(manifest) = read(bucket, run, last)? else { continue };
        if let Some(newest) = walk(bucket, run, manifest)? {
            return Ok(Some(newest));
        }
    }
}
