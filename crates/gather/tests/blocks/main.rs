//! Blocks, manifests and what keeps them in order, on folders and on an S3 server in this process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod compaction;
mod fleet;
mod races;
mod upkeep;
