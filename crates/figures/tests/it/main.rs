//! Tests of statistics and verdicts: against an independent implementation, and by their laws.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod laws;
mod oracle;
