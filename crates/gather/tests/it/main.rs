//! From a source on local disk to an object in a bucket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod fixture;
mod full_disk;
mod spool;
mod taking_turns;
mod upload;
