//! Any bytes behind the beginning of a profile, through the reader.
#![no_main]

#[path = "../../crates/formats/tests/it/invariants.rs"]
mod invariants;

/// The dict and the name of its first function, which the format is recognized by.
const BEGINNING: &[u8] = b"\xfb\xa9\x03\xfa\x04a.py\xe9\x01\x00\x00\x00\xda\x01f";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::check_reader(&[BEGINNING, bytes].concat()));
