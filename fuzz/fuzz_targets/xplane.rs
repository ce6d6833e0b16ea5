//! Any bytes behind the beginning of an XPlane file, through the reader.
#![no_main]

#[path = "../../crates/formats/tests/it/invariants.rs"]
mod invariants;

/// A plane of 16,383 bytes and its name, which the format is recognized by.
const BEGINNING: &[u8] = b"\x0a\xff\x7f\x12\x09/host:CPU";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::check_reader(&[BEGINNING, bytes].concat()));
