//! Any bytes through the reader.
#![no_main]

#[path = "../../crates/formats/tests/it/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::check_reader(bytes));
