//! The tables of a store: one file each, and the list of them.

mod all_collectives;
mod counters;
mod flows;
mod frames;
mod function_calls;
mod functions;
mod health;
mod ingest_warnings;
mod kernel_rollup;
mod launches;
mod memory_blocks;
mod memory_events;
mod memory_segments;
mod op_rollup;
mod programs;
mod spans;
mod stacks;
mod step_breakdown;
mod step_devices;
mod step_overview;
mod steps;
mod tiles;
mod tracks;

pub use all_collectives::ALL_COLLECTIVES;
pub use counters::COUNTERS;
pub use flows::FLOWS;
pub use frames::FRAMES;
pub use function_calls::FUNCTION_CALLS;
pub use functions::FUNCTIONS;
pub use health::HEALTH;
pub use ingest_warnings::INGEST_WARNINGS;
pub use kernel_rollup::KERNEL_ROLLUP;
pub use launches::LAUNCHES;
pub use memory_blocks::MEMORY_BLOCKS;
pub use memory_events::MEMORY_EVENTS;
pub use memory_segments::MEMORY_SEGMENTS;
pub use op_rollup::OP_ROLLUP;
pub use programs::PROGRAMS;
pub use spans::SPANS;
pub use stacks::STACKS;
pub use step_breakdown::STEP_BREAKDOWN;
pub use step_devices::STEP_DEVICES;
pub use step_overview::STEP_OVERVIEW;
pub use steps::STEPS;
pub use tiles::TILES;
pub use tracks::TRACKS;

use crate::schema::{Column, ColumnType, Table};

/// Every table that a source writes.
pub static TABLES: [&Table; 23] = [
    &SPANS,
    &TRACKS,
    &COUNTERS,
    &MEMORY_EVENTS,
    &FLOWS,
    &STEPS,
    &STEP_BREAKDOWN,
    &STEP_OVERVIEW,
    &STEP_DEVICES,
    &OP_ROLLUP,
    &KERNEL_ROLLUP,
    &LAUNCHES,
    &ALL_COLLECTIVES,
    &TILES,
    &FUNCTIONS,
    &FUNCTION_CALLS,
    &PROGRAMS,
    &FRAMES,
    &STACKS,
    &MEMORY_SEGMENTS,
    &MEMORY_BLOCKS,
    &INGEST_WARNINGS,
    &HEALTH,
];

/// The tables whose rows stand for elements of the input: `events_in` = their rows + what was dropped.
pub static EVENT_TABLES: [&Table; 5] = [&SPANS, &FLOWS, &COUNTERS, &MEMORY_EVENTS, &FUNCTIONS];

/// The tables that ingest adds up from the others, and leaves out with `--without rollups`.
pub static ROLLUPS: [&Table; 7] =
    [&STEP_BREAKDOWN, &STEP_OVERVIEW, &STEP_DEVICES, &OP_ROLLUP, &KERNEL_ROLLUP, &LAUNCHES, &ALL_COLLECTIVES];

/// The table of that name.
#[must_use]
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.into_iter().find(|table| table.name == name)
}

/// Every table begins with the source that a row came from.
pub static SOURCE_COLUMNS: [Column; 2] = [
    Column::required("rank", ColumnType::I32, "Rank of the process that recorded the trace."),
    Column::required("window", ColumnType::I32, "Capture cycle of the rank, from 0."),
];
