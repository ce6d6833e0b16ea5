//! Runs a contender in a process of its own and reads the JSON that it prints last.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use stepscope_ingest::Extras;

use crate::once::{IngestReport, Limit, LimitReport};
use crate::scratch::Scratch;

/// Runs a command to its end and reads the last line of its output.
pub(crate) fn run<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .env("RUST_BACKTRACE", "0")
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = error.trim().lines().rev().take(3).collect();
        bail!("{program} ended with {}: {}", output.status, last.into_iter().rev().collect::<Vec<_>>().join(" | "));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.trim().lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("{program} printed {line:?}"))
}

/// Nothing but the tables of events.
const BARE: Extras = Extras { rollups: false, tiles: false };

/// Ingests a trace, without what views read, into a store that is gone afterward.
pub(crate) fn ingest(
    scratch: &Scratch,
    trace: &Path,
    memory_limit: Option<u64>,
    with_hashes: bool,
) -> Result<IngestReport> {
    ingest_with(scratch, trace, memory_limit, with_hashes, BARE)
}

/// The same, with some of that.
pub(crate) fn ingest_with(
    scratch: &Scratch,
    trace: &Path,
    memory_limit: Option<u64>,
    with_hashes: bool,
    extras: Extras,
) -> Result<IngestReport> {
    let store = scratch.store()?;
    let mut command = this()?;
    command.arg("ingest-once").arg(trace).arg(store.path().join("store"));
    for (is_wanted, flag) in [(extras.rollups, "--with-rollups"), (extras.tiles, "--with-tiles")] {
        if is_wanted {
            command.arg(flag);
        }
    }
    if let Some(bytes) = memory_limit {
        command.arg("--memory-limit").arg(bytes.to_string());
    }
    if with_hashes {
        command.arg("--hashes");
    }
    run(&mut command)
}

/// Runs a bare limit on a file.
pub(crate) fn limit(limit: Limit, path: &Path) -> Result<LimitReport> {
    let name = match limit {
        Limit::Inflate => "inflate",
        Limit::Tape => "tape",
        Limit::Quotes => "quotes",
        Limit::Read => "read",
    };
    run(this()?.arg("limit-once").arg(name).arg(path))
}

pub(crate) fn this() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("cannot find this program")?))
}
