//! Whether a store keeps to conditions. Some that speak S3 ignore `If-None-Match` in silence.

use crate::bucket::Bucket;
use crate::error::ObjectError;
use crate::watch::UNWATCHED;

/// What a store does with a request to create an object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// It refuses, as asked.
    Kept,
    /// It overwrites the object, so two writers cannot agree on who was first.
    Ignored,
}

impl Bucket {
    /// Creates `key`, then tries to create it again. An object that is there keeps its content, also in a store that
    /// ignores conditions: what is written a second time is what was there.
    pub fn conditions(&self, key: &str, content: &[u8]) -> Result<Conditions, ObjectError> {
        let there = match self.get(key, UNWATCHED) {
            Ok(there) => there,
            Err(error) if error.is_not_found() => match self.put_new(key, content.to_vec()) {
                // Another writer was first, with other content.
                Err(ObjectError::Taken { .. }) => self.get(key, UNWATCHED)?,
                outcome => outcome.map(|_| content.to_vec().into())?,
            },
            Err(error) => return Err(error),
        };
        Ok(if self.is_created(key, there)? { Conditions::Ignored } else { Conditions::Kept })
    }
}
