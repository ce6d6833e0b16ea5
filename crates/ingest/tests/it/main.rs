//! Tests of the ingest, from bytes to the tables of a store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod invariants;
mod limits;
mod seeds;
mod sizes;
