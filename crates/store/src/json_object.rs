//! Small JSON objects beside the packs: they say their format first, and another one is refused by name.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::StoreError;

/// Reads an object that begins with its format; the rest of another format need not be readable at all.
pub(crate) fn parse(what: &'static str, format: u32, bytes: &[u8], key: &str) -> Result<Value, StoreError> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| corrupt(what, error.to_string(), key))?;
    match value.get("format").and_then(Value::as_u64) {
        Some(found) if found == u64::from(format) => Ok(value),
        Some(found) => {
            Err(StoreError::WrongVersion { what: format_of(what), found, expected: format, path: PathBuf::from(key) })
        }
        None => Err(corrupt(what, "it has no format".to_owned(), key)),
    }
}

/// The type that the object is of.
pub(crate) fn decode<T: DeserializeOwned>(what: &'static str, value: Value, key: &str) -> Result<T, StoreError> {
    serde_json::from_value(value).map_err(|error| corrupt(what, error.to_string(), key))
}

fn corrupt(what: &'static str, reason: String, key: &str) -> StoreError {
    StoreError::CorruptObject { what, reason, key: key.to_owned() }
}

fn format_of(what: &'static str) -> &'static str {
    if what == "block" { "block format" } else { "manifest format" }
}
