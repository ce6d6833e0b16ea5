//! Any pickle, or any bytes behind the beginning of a memory snapshot, through the reader.
#![no_main]

#[path = "../../crates/formats/tests/it/invariants.rs"]
mod invariants;

/// The dict and the first of its members, which the format is recognized by.
const BEGINNING: &[u8] = b"\x80\x04}\x94(\x8c\x08segments\x94";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| match bytes {
    [0x80 | b'(' | b']' | b'}', ..] => invariants::check_reader(bytes),
    _ => invariants::check_reader(&[BEGINNING, bytes].concat()),
});
