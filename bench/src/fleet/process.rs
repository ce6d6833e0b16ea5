//! Commands that are timed, with their memory.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How often the memory of a command is looked at.
const TICK: Duration = Duration::from_millis(10);

/// What a command did.
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) peak_rss_bytes: u64,
    pub(super) text: String,
}

/// Runs a command that must succeed.
pub(super) fn measured(command: &mut Command) -> Result<Measured> {
    let (measured, ended) = attempted(command)?;
    ensure!(ended, "{command:?} failed: {}", measured.text);
    Ok(measured)
}

/// Runs a command; whether it succeeded comes beside what it printed, to standard error if it failed.
pub(super) fn attempted(command: &mut Command) -> Result<(Measured, bool)> {
    let begin = Instant::now();
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = reader(process.stdout.take().context("no standard output")?);
    let errors = reader(process.stderr.take().context("no standard error")?);
    let mut peak_rss_bytes = 0;
    let ended = loop {
        if let Some(ended) = process.try_wait()? {
            break ended;
        }
        peak_rss_bytes = peak_rss_bytes.max(peak_rss(process.id()).unwrap_or(0));
        thread::sleep(TICK);
    };
    let seconds = begin.elapsed().as_secs_f64();
    let read = |reader: thread::JoinHandle<std::io::Result<String>>| -> Result<String> {
        Ok(reader.join().map_err(|_| anyhow::anyhow!("cannot read what a command says"))??)
    };
    let (output, errors) = (read(output)?, read(errors)?);
    let text = if ended.success() { output } else { errors };
    Ok((Measured { seconds, peak_rss_bytes, text }, ended.success()))
}

fn reader(mut from: impl Read + Send + 'static) -> thread::JoinHandle<std::io::Result<String>> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).map(|_| text)
    })
}

/// Most memory of a process so far.
pub(super) fn peak_rss(process: u32) -> Option<u64> {
    let text = fs::read_to_string(PathBuf::from(format!("/proc/{process}/status"))).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
