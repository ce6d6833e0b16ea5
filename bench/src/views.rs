//! How long a view takes: the whole process of a command, on one large recording and on a run of many ranks; and what the
//! sums that views read cost at ingest.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use stepscope_ingest::Extras;
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;

use crate::child;
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, Scratch, warm};
use crate::series::{Run, Series};

/// Commands and the seconds that each may take on a recording of ten million events.
const COMMANDS: [(&str, Option<f64>); 15] = [
    ("summary", Some(2.5)),
    ("diagnose", Some(2.5)),
    ("critical", Some(2.0)),
    ("whatif --no-sync", Some(2.0)),
    // All steps as one window: what counts is the memory.
    ("critical --step 0-999999", None),
    // The run beside itself.
    ("diff STORE", Some(4.0)),
    ("steps", Some(1.0)),
    ("ops", Some(1.0)),
    ("kernels", Some(1.0)),
    ("memory", Some(1.0)),
    ("transfers", Some(1.0)),
    ("comms", Some(1.0)),
    ("modules", Some(1.0)),
    ("regions", Some(1.0)),
    ("launches", Some(1.0)),
];

/// Copies of the control trace that have ten million events.
const LARGE_COPIES: u32 = 96;

const MAX_RSS_BYTES: f64 = 1e9;

pub(crate) fn views(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let (mut rows, mut series) = extras(plan, scratch)?;
    let Some(program) = &plan.stepscope else {
        let absent = Series::absent("commands", "no stepscope command: build it, or give --stepscope");
        rows.push(Row::of_series("commands", &[&absent], || None));
        return Ok((rows, series));
    };
    for (more_rows, more_series) in [large(plan, scratch, program)?, ranks(plan, scratch, program)?] {
        rows.extend(more_rows);
        series.extend(more_series);
    }
    Ok((rows, series))
}

/// What sums and levels of detail cost at ingest: everything beside everything but them, in turns.
fn extras(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let copies = plan.control_copies;
    let trace = scratch.amplified(CONTROL, copies)?;
    warm(&trace.path)?;
    let all = Extras::default();
    let mut contenders = [
        ("everything", all),
        ("no sums", Extras { rollups: false, ..all }),
        ("no tiles", Extras { tiles: false, ..all }),
    ]
    .map(|(what, extras)| (Series::new(&format!("control × {copies}: ingest, {what}")), extras, 0.0));
    for _ in 0..plan.repetitions {
        for (series, extras, bytes) in &mut contenders {
            series.repeat(|| {
                let report = child::ingest_with(scratch, &trace.path, None, false, *extras)?;
                *bytes = report.run_bytes as f64 / report.fingerprint.events_in as f64;
                Ok(Run { seconds: report.wall_s, cpu_seconds: None, peak_rss_bytes: None, problems: Vec::new() })
            });
        }
    }
    let [(with, _, bytes), (no_sums, ..), (no_tiles, _, bytes_without)] = contenders;
    let row = |what: &str, without: &Series, most: f64| {
        let figure = || Some((with.shortest()? / without.shortest()?, "×", format!("with {what} ÷ without")));
        let row = Row::of_series(format!("control × {copies}: {what} at ingest"), &[&with, without], figure);
        row.with_bar(plan.bar(Bar::AtMost(most)))
    };
    let size = Row::of_series(format!("control × {copies}: tiles in the store"), &[&with, &no_tiles], || {
        Some((bytes - bytes_without, "B", "bytes per event".to_owned()))
    });
    let rows =
        vec![row("sums", &no_sums, 1.2), row("tiles", &no_tiles, 1.15), size.with_bar(plan.bar(Bar::AtMost(1.5)))];
    Ok((rows, vec![with, no_sums, no_tiles]))
}

/// Every command on one large recording.
fn large(plan: &Plan, scratch: &Scratch, program: &Path) -> Result<(Vec<Row>, Vec<Series>)> {
    let copies = if plan.is_quick { plan.control_copies } else { LARGE_COPIES };
    let trace = scratch.amplified(CONTROL, copies)?;
    let folder = tempfile::TempDir::with_prefix_in("views-", scratch.folder())?;
    let store = folder.path().join("store");
    let made = Command::new(program).arg("ingest").arg(&trace.path).arg("--store").arg(&store).arg("-q").output()?;
    ensure!(made.status.success(), "ingest failed: {}", String::from_utf8_lossy(&made.stderr));
    let what = |command: &str| format!("control × {copies}: {command}");
    commands(plan, program, &store, &COMMANDS, &what)
}

/// The questions across ranks on a run of a thousand.
fn ranks(plan: &Plan, scratch: &Scratch, program: &Path) -> Result<(Vec<Row>, Vec<Series>)> {
    let job = if plan.is_quick { Job { ranks: 8, ..Job::scale() } } else { Job::scale() };
    let folder = tempfile::TempDir::with_prefix_in("ranks-", scratch.folder())?;
    let store = Store::create(folder.path())?;
    write_store(&job, &store, "scale").context("cannot simulate the job")?;
    let what = |command: &str| format!("{} ranks: {command}", job.ranks);
    let asked = [("steps", Some(3.0)), ("comms", Some(3.0))];
    let (mut rows, series) = commands(plan, program, folder.path(), &asked, &what)?;
    let output = Command::new(program).arg("comms").arg(folder.path()).args(["-f", "csv"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().nth(1).and_then(|line| line.split(',').next()).unwrap_or_default().to_owned();
    let slow = job.truth().slow_rank.map_or_else(String::new, |rank| rank.to_string());
    ensure!(first == slow, "comms names rank {first} first, but rank {slow} is slow");
    if let Some(row) = rows.pop() {
        rows.push(row.with_note(&format!("names rank {slow} first")));
    }
    Ok((rows, series))
}

/// A short job with one slow rank, written without traces: a thousand of those take minutes to read in a debug build.
pub(crate) fn write_ranks(ranks: u32, folder: &Path) -> Result<()> {
    let job = Job { ranks, steps: 12, layers: 4, collectives_per_step: 4, ..Job::scale() };
    write_store(&job, &Store::create(folder)?, &format!("ranks-{ranks}")).context("cannot simulate the job")
}

fn commands(
    plan: &Plan,
    program: &Path,
    store: &Path,
    commands: &[(&'static str, Option<f64>)],
    what: &dyn Fn(&str) -> String,
) -> Result<(Vec<Row>, Vec<Series>)> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for (command, most) in commands {
        let mut series = Series::new(&what(command));
        let word = |word: &'static str| if word == "STORE" { store.as_os_str() } else { OsStr::new(word) };
        let mut arguments: Vec<&OsStr> = command.split(' ').map(word).collect();
        arguments.insert(1, store.as_os_str());
        run(program, &arguments)?;
        for _ in 0..plan.repetitions.min(3) {
            series.repeat(|| run(program, &arguments));
        }
        let peak = series.most_memory().unwrap_or(0) as f64;
        let figure = || Some((series.shortest()?, "s", format!("peak {:.0} MB", peak / 1e6)));
        let bar = most.and_then(|most| plan.bar(Bar::AtMost(most)));
        let row = Row::of_series(what(command), &[&series], figure).with_bar(bar);
        rows.push(if peak > MAX_RSS_BYTES { row.with_note("above 1 GB") } else { row });
        all.push(series);
    }
    Ok((rows, all))
}

/// Runs a command with GNU time's help for its peak of memory.
pub(crate) fn run(program: &Path, arguments: &[&OsStr]) -> Result<Run> {
    let begin = Instant::now();
    let output = Command::new("/usr/bin/time").args(["-f", "%M"]).arg(program).args(arguments).arg("-q").output()?;
    let seconds = begin.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "stepscope ended with {}: {said}", output.status);
    let kilobytes: Option<u64> = said.lines().last().and_then(|line| line.trim().parse().ok());
    let problems = if output.stdout.is_empty() { vec!["no answer".to_owned()] } else { Vec::new() };
    Ok(Run { seconds, cpu_seconds: None, peak_rss_bytes: kilobytes.map(|kilobytes| kilobytes * 1024), problems })
}
