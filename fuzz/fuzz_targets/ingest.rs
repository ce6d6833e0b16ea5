//! Any bytes through the whole ingest, into a store that is read back.
#![no_main]

#[path = "../../crates/ingest/tests/it/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::check_ingest(bytes));
