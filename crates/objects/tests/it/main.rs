//! Objects in a folder and in a bucket: the same calls, the same answers.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails")]

mod alike;
mod faults;
mod folder;
mod judge;
mod s3;
mod server;
mod words;
