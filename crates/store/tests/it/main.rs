//! Tests of the store through its public interface, on real folders.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails")]

mod commit;
mod layout;
mod manifests;
mod marker;
mod packs;
mod reader;
mod round_trip;
mod rows;
mod synthetic;
mod versions;
