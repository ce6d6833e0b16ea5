//! How often each kind of evidence was found, or contradicted, while a graph was made.

use std::collections::BTreeMap;

/// Counts by name; a name that never occurred is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(BTreeMap<&'static str, u64>);

impl Notes {
    pub(crate) fn add(&mut self, name: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// How often something occurred.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Everything that occurred, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }
}
