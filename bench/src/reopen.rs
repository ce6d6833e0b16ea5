//! How long the second question about a trace takes: the whole process of the command, answered from its cache.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::child;
use crate::expected::Expected;
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, KINETO_LEVEL, Scratch, warm};
use crate::series::{Run, Series};

const QUESTION: &str = "SELECT count(*) AS spans FROM spans";

/// Asks once to fill the cache, then again and again.
pub(crate) fn reopen(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let copies = plan.control_copies;
    let what = format!("control × {copies}: second question, whole process");
    let Some(program) = &plan.stepscope else {
        let series = Series::absent(&what, "no stepscope command: build it, or give --stepscope");
        return Ok((vec![row(plan, &what, &series)], vec![series]));
    };
    let trace = scratch.gzip(&scratch.amplified(CONTROL, copies)?, KINETO_LEVEL)?;
    let cache = tempfile::TempDir::with_prefix_in("cache-", scratch.folder())?;
    warm(&trace.path)?;
    let report = child::ingest(scratch, &trace.path, None, false)?;
    let wrong = Expected::load()?.problems(CONTROL.name, copies, &report.fingerprint);
    ensure!(wrong.is_empty(), "ingest itself is wrong: {}", wrong.join("; "));
    let spans = report.fingerprint.rows.get("spans").copied().unwrap_or(0);
    let mut series = Series::new(&what);
    ask(program, &trace.path, cache.path(), spans)?;
    for _ in 0..plan.repetitions {
        series.repeat(|| ask(program, &trace.path, cache.path(), spans));
    }
    Ok((vec![row(plan, &what, &series)], vec![series]))
}

fn row(plan: &Plan, what: &str, series: &Series) -> Row {
    let figure = || Some((series.shortest()?, "s", format!("{} runs", series.seconds.len())));
    Row::of_series(what, &[series], figure).with_bar(plan.bar(Bar::AtMost(0.4)))
}

fn ask(program: &Path, trace: &Path, cache: &Path, spans: u64) -> Result<Run> {
    let mut command = Command::new(program);
    command.arg("sql").arg(trace).arg(QUESTION).args(["-f", "csv"]).env("XDG_CACHE_HOME", cache);
    let begin = Instant::now();
    let output = command.output()?;
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(output.status.success(), "stepscope ended with {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().nth(1).unwrap_or_default();
    let is_right = answer == spans.to_string();
    let problems = if is_right { Vec::new() } else { vec![format!("{answer} spans instead of {spans}")] };
    Ok(Run { seconds, cpu_seconds: None, peak_rss_bytes: None, problems })
}
