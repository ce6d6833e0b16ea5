//! One source as one object: the Parquet files of its tables end to end, its record, and a directory.
//!
//! ```text
//! "SSPK0001"
//! members: events, then sums in one stretch; each begins at a multiple of 8
//! record (JSON), which begins at a multiple of 8
//! directory (JSON)
//! u64 sums_offset, u64 record_offset, u64 directory_offset, u64 xxh3-64 of record and directory, "SSPK0001"
//! ```
//! Numbers are little endian. The last 64 KiB hold record and directory, so that one read gives both and a second one
//! all sums. Nothing is encoded twice: a member is the file of the folder form, byte by byte.

mod directory;
mod listing;
mod name;
mod reader;
mod tail;
mod unpack;
mod writer;

use std::hash::Hasher;

use stepscope_model::{Table, tables};
use twox_hash::XxHash3_64;

pub use directory::Member;
pub use listing::{ListedPack, list_packs};
pub use name::{NO_HOUR, PackName, hour_at, is_hour, packs_folder};
pub use reader::Pack;
pub use unpack::unpack;
pub use writer::{PackedSource, write_pack, write_pack_file};

/// How a pack begins and ends. The digits are the version of the format.
const MAGIC: [u8; 8] = *b"SSPK0001";

/// Members and the record begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// How much of a source a pack has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// Only what is summed up by step, and what is said about the trace.
    Sums,
    /// Every table.
    #[default]
    Full,
}

impl Depth {
    /// The word in the name of a pack.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Sums => "sums",
            Self::Full => "full",
        }
    }

    /// The depth of that word.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Sums, Self::Full].into_iter().find(|depth| depth.as_text() == text)
    }
}

/// Whether a table is among the sums of a pack, rather than among its events. `launches` is derived as sums are, but has
/// a row per call; `tracks` has a few rows, which say what devices there are.
#[must_use]
pub fn is_sums(table: &Table) -> bool {
    let others = [&tables::STEPS, &tables::TRACKS, &tables::INGEST_WARNINGS, &tables::HEALTH];
    let is_named = tables::ROLLUPS.into_iter().chain(others).any(|sums| sums.name == table.name);
    is_named && table.name != tables::LAUNCHES.name
}

/// The tables in the order in which they are in a pack.
fn tables_in_order() -> impl Iterator<Item = &'static Table> {
    let of_kind = |wants_sums: bool| tables::TABLES.into_iter().filter(move |table| is_sums(table) == wants_sums);
    of_kind(false).chain(of_kind(true))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(bytes);
    hasher.finish()
}
