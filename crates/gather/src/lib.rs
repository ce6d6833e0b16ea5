//! How the recordings of many hosts come together in one store.
//!
//! A host writes a recording as a pack into a spool on its own disk, and uploads it from there. Nobody coordinates the
//! hosts: a name depends on the recording alone. Later the sums of many packs are merged into blocks, which a question
//! about all ranks reads instead.

mod compact;
mod error;
mod expire;
mod export;
mod rebuild;
mod spool;
mod upload;
mod verify;

pub use compact::{
    CompactError, CompactOptions, Compaction, Compactor, OnProgress, Progress, QUIET, RefusedPack, compact,
};
pub use error::GatherError;
pub use expire::{Amount, ExpireOptions, Expiry, expire, pinned_key};
pub use export::{Export, export};
pub use rebuild::rebuild;
pub use spool::{Spool, SpoolState, Spooled, Turn};
pub use upload::{Patience, PlaceReport, UploadProgress, UploadReport, UploadWatch, Uploader};
pub use verify::{Verification, verify};
