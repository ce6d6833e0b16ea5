//! How much of a pack in a bucket a query about one step reads: bytes counted by a proxy before the server.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use stepscope_testkit::{FaultPlan, FaultProxy, S3Server};

use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::scratch::{CONTROL, Scratch};
use crate::series::Series;

/// Copies of the control trace, so of its steps.
const COPIES: u32 = 16;

/// The share of a pack that a query about one step may read.
const MOST: f64 = 0.25;

pub(crate) fn reads(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let program = plan.stepscope.as_deref().context("no stepscope command: build it, or give --stepscope")?;
    let trace = scratch.amplified(CONTROL, COPIES)?.path;
    let folder = scratch.store()?;
    let server = S3Server::start()?;
    let proxy = FaultProxy::start(server.address(), FaultPlan::none())?;
    let place = format!("s3://{}/reads", S3Server::BUCKET);
    let run = format!("{place}/runs/control");
    let command = |words: &[&str]| -> Result<String> {
        let mut command = Command::new(program);
        command.args(words).arg("--quiet").envs(S3Server::environment(proxy.address()));
        let output = command.env("STEPSCOPE_SPOOL", folder.path()).output()?;
        ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let trace = trace.to_str().context("the path of the trace is no text")?;
    command(&["ingest", trace, "--store", &place, "--run", "control"])?;
    let before = proxy.requests().values().sum::<u64>();
    let pack_bytes = size(&server.folder().join("reads/runs/control/in"))?;
    let count = |statement: &str| {
        let begin = proxy.answered_bytes();
        let answer = command(&["sql", &run, statement, "-f", "csv"])?;
        anyhow::Ok((proxy.answered_bytes() - begin, answer))
    };
    let step: i64 = {
        let (_, text) = count("SELECT max(step) / 2 AS step FROM steps")?;
        text.lines().nth(1).and_then(|line| line.parse().ok()).context("no step")?
    };
    let kinds = "SELECT kind, count(*) AS n, sum(dur_ns) AS dur_ns FROM spans";
    let (bytes, answer) = count(&format!("{kinds} WHERE step = {step} GROUP BY kind ORDER BY kind"))?;
    ensure!(answer.lines().count() > 2, "no events of step {step}: {answer}");
    let requests = proxy.requests().values().sum::<u64>() - before;
    let share = bytes as f64 / pack_bytes as f64;
    let note = format!("{bytes} of {pack_bytes} bytes, {requests} requests with the query for the step's number");
    let what = format!("control × {COPIES}: bytes read for one step ÷ those of the pack");
    let row = Row { status: if share <= MOST { Status::Ok } else { Status::Failed }, ..Row::figure(what, share, "") };
    Ok((vec![row.with_note(&note).with_bar(Some(Bar::AtMost(MOST)))], Vec::new()))
}

/// Bytes of the files below a folder.
fn size(folder: &std::path::Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        bytes += if path.is_dir() { size(&path)? } else { path.metadata()?.len() };
    }
    Ok(bytes)
}
