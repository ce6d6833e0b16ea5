//! What reports look like: one snapshot a case, no engine needed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod any_table;
mod data;
mod formats;
mod prose;
mod screens;
mod shape;
mod stream;
mod text;
