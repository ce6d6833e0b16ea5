//! Tests of the readers, from bytes to events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod blocks;
mod broken;
mod corpus;
mod dump;
mod gzip;
mod hostile;
mod invariants;
mod json;
mod random;
mod refusals;
mod repairs;
mod rules;
mod seeds;
mod threads;
mod writer;
