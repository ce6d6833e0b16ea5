//! Tables that no source writes: their rows are worked out when they are asked for. One file each, and the list of them.

mod critical_path;

pub use critical_path::CRITICAL_PATH;

use crate::schema::Table;

/// Every derived table.
pub static DERIVED_TABLES: [&Table; 1] = [&CRITICAL_PATH];
