//! The `stepscope` command; everything is in the library, so that other front doors can call it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(stepscope_cli::run(std::env::args_os()) as u8)
}
