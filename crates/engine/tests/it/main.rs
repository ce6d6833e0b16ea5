//! Tests of the engine through its public interface, on small stores that are made for them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod derived;
mod fixture;
mod functions;
mod limits;
mod pruning;
mod refusals;
mod text;
mod views;
