//! Tests of the readers, from bytes to events and functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod blocks;
mod broken;
mod corpus;
mod cprofile;
mod dump;
mod gzip;
mod hostile;
mod invariants;
mod json;
mod pickler;
mod random;
mod refusals;
mod repairs;
mod rules;
mod seeds;
mod segments;
mod snapshot;
mod snapshot_hostile;
mod snapshot_shapes;
mod threads;
mod writer;
mod xplane;
