//! The `stepscope-cluster` command: every command of `stepscope`, with queries on workers, and the worker.

mod command_line;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use stepscope_cluster::{Notes, Worker};

use command_line::{ClusterArguments, WorkerArguments};

/// Gives memory back when a worker rests (decision 0002).
#[cfg(not(any(target_env = "msvc", target_env = "musl")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What is freed goes back to the system after a tenth of a second.
#[cfg(not(any(target_env = "msvc", target_env = "musl")))]
#[expect(unsafe_code, reason = "the allocator finds its settings by the name of the symbol, which nothing else has")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static ALLOCATOR_SETTINGS: &[u8] = b"dirty_decay_ms:100,muzzy_decay_ms:0\0";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == "worker") {
        let name = OsString::from("stepscope-cluster worker");
        let arguments = std::iter::once(name).chain(arguments.into_iter().skip(2));
        return work(WorkerArguments::parse_from(arguments));
    }
    ask(arguments)
}

/// Runs a worker until it is asked to end.
fn work(arguments: WorkerArguments) -> ExitCode {
    let options = match arguments.options() {
        Ok(options) => options,
        Err(reason) => return refuse(&reason),
    };
    let worker = match Worker::start(&options) {
        Ok(worker) => worker,
        Err(error) => return refuse(&error.to_string()),
    };
    say(&format!("worker {} reads {} and listens on {}", options.version, options.store, worker.address()));
    let (taken, cut_off) = worker.serve_until(ended());
    say(&format!("worker ended after {taken} queries; {cut_off} were cut off"));
    ExitCode::SUCCESS
}

/// Waits for the signals that ask a program to end.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Runs a command of `stepscope`, whose queries the cluster answers if one is given.
fn ask(arguments: Vec<OsString>) -> ExitCode {
    let (cluster, rest) = match ClusterArguments::taken_from(arguments) {
        Ok(taken) => taken,
        Err(reason) => return refuse(&reason),
    };
    if let Some(options) = cluster {
        match options.runner(notes()) {
            Ok(runner) => {
                stepscope_engine::use_runner(Arc::new(runner));
            }
            Err(error) => return refuse(&error.to_string()),
        }
    }
    ExitCode::from(stepscope_cli::run(rest, false) as u8)
}

/// Prints each sentence once: an analysis has many queries.
fn notes() -> Notes {
    let said = Mutex::new(BTreeSet::new());
    Arc::new(move |note| {
        if said.lock().unwrap_or_else(PoisonError::into_inner).insert(note.to_owned()) {
            say(&format!("note: {note}"));
        }
    })
}

fn refuse(reason: &str) -> ExitCode {
    say(&format!("error: {reason}"));
    ExitCode::from(2)
}

#[expect(clippy::print_stderr, reason = "this is the program, not the library")]
fn say(line: &str) {
    eprintln!("{line}");
}
