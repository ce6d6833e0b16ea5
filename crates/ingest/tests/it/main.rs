//! Tests of the ingest, from bytes to the tables of a store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod breakdown;
mod collectives;
mod communication;
mod forward;
mod host_collectives;
mod invariants;
mod launches;
mod limits;
mod links;
mod nesting;
mod seeds;
mod sizes;
mod steps;
mod tables;
