//! The server as a browser meets it, and as somebody meets it who should not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod cancel;
mod curves;
mod door;
mod endpoints;
mod harness;
mod keeper;
mod path;
mod track;
