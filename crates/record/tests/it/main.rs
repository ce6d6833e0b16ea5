//! Recording as a program does it, and reading back what came of it.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that fails may panic anywhere")]

mod forks;
mod regions;
mod segments;
mod sensors;
