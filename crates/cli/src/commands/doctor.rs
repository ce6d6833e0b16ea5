//! `stepscope doctor`: what this machine has, as far as it matters here.

use std::process::Stdio;

use clap::{ArgMatches, Args};
use stepscope_model::{Exit, Part, Report, ReportColumn, ReportTable};
use stepscope_workspace::Cache;

use super::{Command, parsed};
use crate::failure::Failure;
use crate::options::OutputOptions;
use crate::output::{self, Answer, Target};
use crate::{Context, VERSION, color};

pub(super) static COMMAND: Command = Command {
    name: "doctor",
    options: |command| {
        Options::augment_args(command).about("Check this machine for what Stepscope needs").after_help(
            "\
Examples:
  stepscope doctor
  stepscope doctor -f json          to attach to a bug report",
        )
    },
    run,
};

#[derive(Args)]
struct Options {
    #[command(flatten)]
    output: OutputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let Options { output } = parsed(matches)?;
    let target = Target::of(output.output.as_deref(), &[])?;
    let table = ReportTable::of("rows", checks())
        .column(ReportColumn::named("check"), |check| check.name)
        .column(ReportColumn::named("state"), |check| check.state)
        .column(ReportColumn::named("finding"), |check| check.finding.clone())
        .table();
    let report = Report::new("doctor", vec![Part::Table(table)]);
    output::write(Answer::new(report), &target, &output, context)?;
    Ok(Exit::Done)
}

struct Check {
    name: &'static str,
    /// `good`, `look` where something is in the way, `none` where something is not there and need not be.
    state: &'static str,
    finding: String,
}

fn good_if(is_good: bool) -> &'static str {
    if is_good { "good" } else { "look" }
}

fn checks() -> Vec<Check> {
    vec![
        Check { name: "stepscope", state: "good", finding: format!("{VERSION}, {}", std::env::consts::ARCH) },
        processors(),
        memory(),
        cache(),
        terminal(),
        command("python3", &["--version"], "Python for capture: not needed to read traces"),
        command(
            "nvidia-smi",
            &["--query-gpu=name,driver_version", "--format=csv,noheader"],
            "no NVIDIA driver: only needed to record",
        ),
        command("rocm-smi", &["--showproductname", "--csv"], "no AMD driver: only needed to record"),
    ]
}

fn processors() -> Check {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    Check { name: "processors", state: good_if(count >= 2), finding: format!("{count}; set fewer with --threads") }
}

/// What ingest and queries may use by default.
fn memory() -> Check {
    let limit = stepscope_workspace::default_memory_limit_bytes();
    let finding = format!("{} MiB for reading and queries; set with --memory-limit", limit >> 20);
    Check { name: "memory", state: good_if(limit >= 512 << 20), finding }
}

fn cache() -> Check {
    let finding = match Cache::from_environment() {
        Ok(cache) => {
            let root = cache.root().to_owned();
            if let Err(error) = cache.check_owner() {
                return Check { name: "cache", state: "look", finding: format!("{}: {error}", root.display()) };
            }
            let can_write = cache.make_folders().is_ok() && tempfile_in(&root).is_ok();
            let state = if can_write { "writable" } else { "not writable: set STEPSCOPE_CACHE to another folder" };
            return Check { name: "cache", state: good_if(can_write), finding: format!("{}, {state}", root.display()) };
        }
        Err(error) => error.to_string(),
    };
    Check { name: "cache", state: "look", finding }
}

/// Whether a file can be made there.
fn tempfile_in(folder: &std::path::Path) -> std::io::Result<()> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    std::fs::write(&path, b"x")?;
    std::fs::remove_file(&path)
}

fn terminal() -> Check {
    let columns = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    let finding = match columns {
        Some(columns) => {
            let letters = if color::is_ascii() { "ASCII only: set LANG to a UTF-8 locale" } else { "UTF-8" };
            format!("{columns} columns, {:?} colors, {letters}", color::mode())
        }
        None => "output goes to a pipe or a file: 120 columns, no color".to_owned(),
    };
    Check { name: "terminal", state: good_if(columns.is_none_or(|columns| columns >= 80)), finding }
}

fn command(name: &'static str, arguments: &[&str], otherwise: &str) -> Check {
    let ran = std::process::Command::new(name).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = ran.ok().filter(|ran| ran.status.success()).map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned());
    let first = said.as_deref().and_then(|said| said.lines().next()).map(str::trim).filter(|line| !line.is_empty());
    Check { name, state: if first.is_some() { "good" } else { "none" }, finding: first.unwrap_or(otherwise).to_owned() }
}
