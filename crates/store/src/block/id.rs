//! The name of a block: a hash of the names of its packs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_128;

use crate::pack::PackName;

/// Hexadecimal digits of an id.
const DIGITS: usize = 32;

/// The name of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u128);

impl BlockId {
    /// The block of some packs of a run, in any order.
    #[must_use]
    pub fn of<'p>(run: &str, packs: impl IntoIterator<Item = &'p PackName>) -> Self {
        let mut names: Vec<String> = packs.into_iter().map(|pack| pack.object_key(run)).collect();
        names.sort_unstable();
        let mut hasher = XxHash3_128::with_seed(0);
        for name in names {
            hasher.write(name.as_bytes());
            hasher.write(b"\n");
        }
        Self(hasher.finish_128())
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

impl FromStr for BlockId {
    type Err = String;

    /// Only the one spelling that Stepscope writes is read, so that no block has two names.
    fn from_str(text: &str) -> Result<Self, String> {
        let id = u128::from_str_radix(text, 16).ok().map(Self).filter(|id| id.to_string() == text);
        id.ok_or_else(|| format!("found {text:?}, expected {DIGITS} hexadecimal digits"))
    }
}

impl Serialize for BlockId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlockId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
