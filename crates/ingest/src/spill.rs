//! What keeps the memory of an ingest below its limit: sorts, joins, sums, texts and late columns
//! that move to files beside the store past it.

pub(crate) mod groups;
pub(crate) mod late;
pub(crate) mod memory;
pub(crate) mod row;
mod run_file;
pub(crate) mod scratch;
pub(crate) mod sorter;
pub(crate) mod strings;
