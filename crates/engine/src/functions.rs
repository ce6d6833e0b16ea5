//! Functions that SQL does not have: one file each, listed here.

mod interval_aggregate;
mod interval_set;
mod nearest_rank;
mod op_flops;
mod overlap_length;
mod sketch_percentile;
mod union_length;
mod value_counts;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

/// What `stepscope schema` says about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionDoc {
    /// Name and arguments, as one would write the call.
    pub call: &'static str,
    /// What it computes.
    pub doc: &'static str,
}

/// Every function, in alphabetical order.
pub static FUNCTIONS: [FunctionDoc; 6] = [
    nearest_rank::DOC,
    op_flops::DOC,
    op_flops::LEAST_DOC,
    overlap_length::DOC,
    sketch_percentile::DOC,
    union_length::DOC,
];

/// The functions over many rows, as the engine takes them.
#[must_use]
pub fn aggregates() -> [AggregateUDF; 4] {
    [nearest_rank::function(), overlap_length::function(), sketch_percentile::function(), union_length::function()]
}

/// The functions of one row, as the engine takes them.
#[must_use]
pub fn scalars() -> [ScalarUDF; 2] {
    [op_flops::function(), op_flops::least_function()]
}
