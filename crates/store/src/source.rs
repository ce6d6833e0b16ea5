//! Source records: the files that make a source exist.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_model::{SourceId, SourceRecord};

use crate::disk;
use crate::error::StoreError;
use crate::layout;

/// Writes a record; from then on the source exists.
pub(crate) fn write(root: &Path, run: &str, temporary_dir: &Path, record: &SourceRecord) -> Result<(), StoreError> {
    let target = layout::source_file(root, run, record.id);
    let bytes = json_bytes(record, &target)?;
    disk::write_atomically(&temporary_dir.join("source.json"), &target, &bytes)
}

/// Reads one record; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<SourceRecord>, StoreError> {
    let Some(value) = read_json(path)? else { return Ok(None) };
    // The versions come first: the rest of another version's record need not be readable at all.
    check_versions(&value, path)?;
    let record: SourceRecord = serde_json::from_value(value).map_err(|error| corrupt(path, &error))?;
    let named = path.file_name().and_then(|name| layout::source_id_of(&name.to_string_lossy(), "json"));
    if named != Some(record.id) {
        let SourceId { rank, window } = record.id;
        return Err(corrupt(path, &format_args!("it is for rank {rank}, window {window}, but its name is not")));
    }
    Ok(Some(record))
}

/// Every source of a run by its record's name, sorted by rank and window.
pub(crate) fn list_ids(root: &Path, run: &str) -> Result<Vec<SourceId>, StoreError> {
    let paths = disk::list(&layout::sources_dir(root, run))?;
    let names = paths.iter().filter_map(|path| path.file_name());
    let mut ids: Vec<_> = names.filter_map(|name| layout::source_id_of(&name.to_string_lossy(), "json")).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Refuses a record or summary of another version.
pub(crate) fn check_versions(value: &Value, path: &Path) -> Result<(), StoreError> {
    let versions =
        [("schema", "schema_version", SCHEMA_VERSION), ("derivation", "derivation_version", DERIVATION_VERSION)];
    for (what, key, expected) in versions {
        let Some(found) = value.get(key).and_then(Value::as_u64) else {
            return Err(corrupt(path, &format_args!("it has no {key}")));
        };
        if found != u64::from(expected) {
            return Err(StoreError::WrongVersion { what, found, expected, path: path.to_owned() });
        }
    }
    Ok(())
}

/// Reads a JSON document; `None` if there is no such file.
pub(crate) fn read_json(path: &Path) -> Result<Option<Value>, StoreError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read a source record", path)(error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| corrupt(path, &error))
}

/// Pretty JSON with a final newline, for people who look into a store.
pub(crate) fn json_bytes<T: serde::Serialize>(value: &T, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| corrupt(path, &error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn corrupt(path: &Path, reason: &dyn std::fmt::Display) -> StoreError {
    StoreError::CorruptRecord { reason: reason.to_string(), path: path.to_owned() }
}
