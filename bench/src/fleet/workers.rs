//! The same questions on three workers of this machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};

use super::process::{attempted, peak_rss};
use super::{BY_RANK, Questions, checked};
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::series::Series;

const WORKERS: usize = 3;

/// The pool of workers that have little memory, and what they may hold beside it.
const SMALL_POOL: &str = "256MiB";
const SMALL_POOL_MIB: f64 = 256.0;
const BESIDE_MIB: f64 = 143.0;

/// Groups that fit the pool, and as many groups as there are rows.
const FOR_SMALL_POOLS: [(&str, &str); 3] = [
    (
        "one group per step",
        "SELECT step, count(*) AS n, sum(dur_ns) AS total_ns, max(dur_ns) AS longest_ns \
      FROM all_collectives GROUP BY step ORDER BY step",
    ),
    (
        "one group per collective",
        "SELECT count(*) AS groups, sum(n) AS n, sum(spread_ns) AS spread_ns FROM \
      (SELECT process_group, ordinal, step, count(*) AS n, max(dur_ns) - min(dur_ns) AS spread_ns \
       FROM all_collectives GROUP BY process_group, ordinal, step)",
    ),
    (
        "one group per row",
        "SELECT count(*) AS groups, max(n) AS most, sum(longest_ns) AS longest_ns FROM \
      (SELECT rank, step, start_ns, count(*) AS n, max(dur_ns) AS longest_ns \
       FROM all_collectives GROUP BY rank, step, start_ns)",
    ),
];

/// Worker processes. They end with this.
struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    process: Child,
    address: String,
    said: Option<JoinHandle<Vec<String>>>,
}

impl Workers {
    fn start(program: &Path, store: &Path, more: &[&str]) -> Result<Self> {
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            let mut command = Command::new(program);
            command.arg("worker").arg("--store").arg(store).args(["--listen", "127.0.0.1:0", "--threads", "2"]);
            let mut process = command.args(more).stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            let mut lines = BufReader::new(process.stderr.take().context("no standard error")?).lines();
            let first = lines.next().context("a worker said nothing")??;
            let address = first.rsplit(' ').next().unwrap_or_default().to_owned();
            let said = Some(thread::spawn(move || lines.map_while(Result::ok).collect()));
            workers.push(Worker { process, address, said });
            ensure!(first.contains("listens on"), "a worker did not start: {first}");
        }
        Ok(Self { workers })
    }

    fn addresses(&self) -> String {
        self.workers.iter().map(|worker| worker.address.as_str()).collect::<Vec<_>>().join(",")
    }

    fn peak_rss_bytes(&self) -> u64 {
        self.workers.iter().filter_map(|worker| peak_rss(worker.process.id())).max().unwrap_or(0)
    }

    /// Ends them; how many queries they took part in.
    fn end(mut self) -> Result<u64> {
        let mut queries = 0;
        for worker in &mut self.workers {
            let asked = Command::new("kill").arg(worker.process.id().to_string()).status()?;
            ensure!(asked.success(), "cannot end a worker");
            worker.process.wait()?;
            let said = worker.said.take().and_then(|said| said.join().ok()).unwrap_or_default().concat();
            let count = said.split("ended after ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            queries += count.with_context(|| format!("a worker did not count its queries: {said}"))?;
        }
        Ok(queries)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // Those that ended are gone already.
            let _ = worker.process.kill();
            let _ = worker.process.wait();
        }
    }
}

/// Asks three workers: as they are, beside `local`, and with little memory.
pub(super) fn rows(
    plan: &Plan,
    program: &Path,
    store: &Path,
    questions: &Questions<'_>,
    local: &Series,
) -> Result<(Vec<Row>, Series)> {
    let workers = Workers::start(program, store, &[])?;
    let mut series = Series::new("the same on 3 workers");
    let expected = questions.ask(questions.program, BY_RANK, &[])?.text;
    for _ in 0..=plan.repetitions {
        series
            .repeat(|| Ok(checked(questions.ask(program, BY_RANK, &["--cluster", &workers.addresses()])?, &expected)));
    }
    let peak = workers.peak_rss_bytes() as f64 / f64::from(1 << 20);
    let queries = workers.end()?;
    ensure!(queries > 0, "no query reached the workers");
    let of = || Some((series.shortest()?, "s", format!("{queries} parts of queries ran on workers")));
    let mut rows = vec![
        Row::of_series(series.name.clone(), &[&series], of).with_bar(plan.bar(Bar::AtMost(30.0))),
        Row::ratio("3 workers ÷ local", &series, local).with_note("on the processors of one machine"),
        Row::figure("peak RSS of a worker", peak, "MiB").with_bar(plan.bar(Bar::AtMost(954.0))),
    ];
    rows.extend(small_pools(plan, program, store, questions)?);
    Ok((rows, series))
}

/// Right answers, or an error with a name, and little memory.
fn small_pools(plan: &Plan, program: &Path, store: &Path, questions: &Questions<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, statement) in FOR_SMALL_POOLS {
        let spill = tempfile::tempdir_in(&plan.scratch)?;
        let folder = spill.path().to_string_lossy().into_owned();
        let workers = Workers::start(program, store, &["--memory-limit", SMALL_POOL, "--spill-dir", &folder])?;
        let mut command = questions.command(program, statement);
        let (answer, is_answered) = attempted(command.args(["--cluster", &workers.addresses()]))?;
        let outcome = if is_answered {
            let right = questions.ask(questions.program, statement, &["--memory-limit", "4GiB"])?.text;
            ensure!(answer.text == right, "{what}: found {}, expected {right}", answer.text);
            "right".to_owned()
        } else {
            ensure!(answer.text.contains("worker_out_of_memory"), "{what}: {}", answer.text);
            answer.text.lines().next().unwrap_or_default().to_owned()
        };
        let peak = workers.peak_rss_bytes() as f64 / f64::from(1 << 20);
        let queries = workers.end()?;
        ensure!(queries > 0, "{what}: no query reached the workers");
        let note = format!("{outcome} after {:.1} s", answer.seconds);
        let row = Row::figure(format!("peak RSS, pool of 256 MiB: {what}"), peak, "MiB").with_note(&note);
        rows.push(row.with_bar(plan.bar(Bar::AtMost(SMALL_POOL_MIB + BESIDE_MIB))));
    }
    Ok(rows)
}
