//! Tests of graphs, paths and replays, from traces and from recordings made by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod by_hand;
mod changes;
mod compare;
mod document;
mod every_trace;
mod fuse_and_remove;
mod graphs;
mod jobs;
mod oracles;
mod random;
mod random_jobs;
mod reading;
mod stores;
