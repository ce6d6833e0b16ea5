//! The `stepscope` command; everything is in the library, so that other front doors can call it too.

use std::process::ExitCode;

/// Gives memory back when a server rests (decision 0002).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    ExitCode::from(stepscope_cli::run(std::env::args_os()) as u8)
}
