//! The object `stepscope.json` at the root of a store that many hosts write to: its format, and whether the object store
//! keeps to conditions.
//!
//! The first writer creates it without an answer about conditions, tries to create it again, and writes the answer over
//! it. Whoever finds it without one does the same, so a writer that was killed in between leaves nothing wrong behind.
//! Every writer comes to the same answer and the same bytes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepscope_model::Hint;
use stepscope_objects::{Bucket, Conditions, ObjectError, UNWATCHED};

/// Where it is, below the root of a store.
pub const MARKER: &str = "stepscope.json";

/// The format of stores that this Stepscope reads and writes.
pub const FORMAT: u32 = 1;

/// What a store says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Whether the object store refuses to create an object that is there. Without that two writers cannot agree on who
    /// was first; packs are safe all the same, as their names stand for their content.
    pub is_conditional: bool,
}

/// A marker that cannot be read or written, or that forbids to use the store.
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// The object store refused.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Another Stepscope wrote the store.
    #[error("found a store of format {found}, expected {FORMAT}: {at}")]
    WrongFormat {
        /// Its format.
        found: u64,
        /// The marker.
        at: String,
    },
    /// Something else has its name.
    #[error("not the marker of a store: {reason}: {at}")]
    Corrupt {
        /// What is wrong with it.
        reason: String,
        /// The marker.
        at: String,
    },
}

impl Hint for MarkerError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Object(error) => error.hint(),
            Self::WrongFormat { found, .. } if *found > u64::from(FORMAT) => {
                Some("a newer Stepscope wrote the store: update this one, or choose another prefix".into())
            }
            Self::WrongFormat { .. } => Some("choose another prefix, and ingest the traces again".into()),
            Self::Corrupt { .. } => Some("choose another prefix, or remove the object if it is of no use".into()),
        }
    }
}

/// The document as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format: u32,
    /// Absent until it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conditional: Option<bool>,
}

/// The marker of a store, made if there is none; for writers. One request if it is there.
pub fn ensure(bucket: &Bucket) -> Result<Marker, MarkerError> {
    if let Some(is_conditional) = find(bucket)?.and_then(|found| found.conditional) {
        return Ok(Marker { is_conditional });
    }
    let untried = to_bytes(bucket, &Document { format: FORMAT, conditional: None })?;
    let is_conditional = bucket.conditions(MARKER, &untried)? == Conditions::Kept;
    // Whoever was faster may be of another format.
    if let Some(is_conditional) = find(bucket)?.and_then(|found| found.conditional) {
        return Ok(Marker { is_conditional });
    }
    bucket.put(MARKER, to_bytes(bucket, &Document { format: FORMAT, conditional: Some(is_conditional) })?)?;
    Ok(Marker { is_conditional })
}

/// The marker of a store; `None` if there is none. One request.
pub fn read(bucket: &Bucket) -> Result<Option<Marker>, MarkerError> {
    // What was not tried yet is not promised.
    Ok(find(bucket)?.map(|found| Marker { is_conditional: found.conditional.unwrap_or(false) }))
}

fn find(bucket: &Bucket) -> Result<Option<Document>, MarkerError> {
    let bytes = match bucket.get(MARKER, UNWATCHED) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let corrupt = |reason: String| MarkerError::Corrupt { reason, at: name(bucket) };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
    // The format comes first: the rest of another one need not be readable at all.
    match value.get("format").and_then(Value::as_u64) {
        Some(found) if found == u64::from(FORMAT) => {}
        Some(found) => return Err(MarkerError::WrongFormat { found, at: name(bucket) }),
        None => return Err(corrupt("it has no format".to_owned())),
    }
    serde_json::from_value(value).map(Some).map_err(|error| corrupt(error.to_string()))
}

fn to_bytes(bucket: &Bucket, document: &Document) -> Result<Vec<u8>, MarkerError> {
    let mut bytes = serde_json::to_vec(document)
        .map_err(|error| MarkerError::Corrupt { reason: error.to_string(), at: name(bucket) })?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn name(bucket: &Bucket) -> String {
    format!("{}/{MARKER}", bucket.place())
}
