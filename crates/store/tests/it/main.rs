//! Tests of the store through its public interface, on real folders.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod commit;
mod layout;
mod marker;
mod packs;
mod reader;
mod round_trip;
mod rows;
mod synthetic;
mod versions;
