//! What a caller wants of one query: limits, columns and an order.

use std::time::Duration;

use crate::cancel::CancelFlag;

/// Limits of one query.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    /// Rows at most; the rest is left out.
    pub max_rows: Option<usize>,
    /// Whether to run a query that has more rows to its end, to tell how many were left out.
    pub count_left_out: bool,
    /// Time at most, planning included.
    pub time_limit: Option<Duration>,
    /// Ends the query from elsewhere.
    pub cancel: CancelFlag,
    /// Which columns are wanted, and in which order the rows.
    pub pick: Pick,
}

/// What to make of the answer of a query, while it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pick {
    /// The column to sort by; ties are settled by the others, from left to right.
    pub order: Option<Order>,
    /// The columns that are wanted, in this order; all when empty.
    pub columns: Vec<usize>,
}

/// An order of rows. What is missing comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The place of the column in the answer.
    pub column: usize,
    /// Whether the largest comes first.
    pub is_descending: bool,
}
