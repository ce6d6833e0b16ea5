//! What a profile that adds up calls says about a function. It has no times of day, so it is not an event.

use std::sync::Arc;

/// A function, as its profiler names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// File that defines it; `~` for a function that is not written in Python.
    pub file: Arc<str>,
    /// Line of its definition; 0 where there is none.
    pub line: i64,
    /// Name.
    pub name: Arc<str>,
}

/// All calls of one function, added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionTotals {
    /// Place among the functions of the file, from 0.
    pub position: u64,
    /// Where it starts in the plain bytes.
    pub offset_bytes: u64,
    /// The function.
    pub function: Function,
    /// Calls.
    pub calls: i64,
    /// Calls that no other call of the function was around.
    pub primitive_calls: i64,
    /// Time in the function without what it called.
    pub tottime_ns: i64,
    /// Time in the function and all it called.
    pub cumtime_ns: i64,
    /// Who called it.
    pub callers: Vec<CallerTotals>,
}

/// The calls of a function that came from one caller. Some profilers count them and measure nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerTotals {
    /// The caller.
    pub caller: Function,
    /// Calls.
    pub calls: i64,
    /// Calls that no other call of the function was around.
    pub primitive_calls: Option<i64>,
    /// Time in the function without what it called.
    pub tottime_ns: Option<i64>,
    /// Time in the function and all it called.
    pub cumtime_ns: Option<i64>,
}
