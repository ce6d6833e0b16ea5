//! Whole commands: standard output, standard error and exit code, as a person or a script meets them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod answers;
mod blocks;
mod buckets;
mod cache;
mod check;
mod cloud;
mod command;
// The same comparison as that of the model itself.
#[path = "../../../replay/tests/it/compare.rs"]
mod compare;
mod contract;
mod critical;
mod diff;
mod help;
mod open;
mod outputs;
mod profile;
mod prose;
mod python_methods;
mod reference;
mod report;
mod screens;
mod usage;
