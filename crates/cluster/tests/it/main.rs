//! Queries on three workers: the same rows as here, or an error with a name.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails, and tells")]

mod buckets;
mod cluster;
mod doors;
#[expect(dead_code, reason = "the tests of the engine use all of it, those of limits are not here")]
#[path = "../../../engine/tests/it/fixture.rs"]
mod engine_fixture;
mod fixture;
mod losses;
mod memory;
mod plans;
mod processes;
mod routes;
mod same_rows;

// Every test of SQL that the engine has, with an engine whose queries run on workers.
#[path = "../../../engine/tests/it/derived.rs"]
mod derived;
#[path = "../../../engine/tests/it/functions.rs"]
mod functions;
#[path = "../../../engine/tests/it/pruning.rs"]
mod pruning;
#[path = "../../../engine/tests/it/refusals.rs"]
mod refusals;
#[path = "../../../engine/tests/it/text.rs"]
mod text;
#[path = "../../../engine/tests/it/views.rs"]
mod views;
