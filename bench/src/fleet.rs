//! A fleet in one run: 16,384 simulated ranks with 200 collectives per step, as blocks. How long a question about all of
//! them takes, beside bare DataFusion on the same files.

mod bare;
mod process;
mod workers;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use stepscope_gather::{CompactOptions, QUIET, compact, verify};
use stepscope_objects::{Bucket, Place, UNWATCHED};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;
use stepscope_store::pack::{Depth, PackName, write_pack};

use self::process::{Measured, measured};
use crate::child;
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::series::{Run, Series};

pub(crate) use bare::answer;

/// The run of the fleet.
const RUN: &str = "fleet";

/// A question on sums: one row per step.
const STEP_TIMES: &str = "SELECT step, count(*) AS ranks, min(dur_ns) AS shortest_ns, max(dur_ns) AS longest_ns \
                          FROM steps GROUP BY step ORDER BY step";

/// A sum by group and rank over all collectives. The table has every one of them; the view `collectives` those that count.
const BY_RANK: &str = "SELECT group_id, rank, count(*) AS n, sum(dur_ns) AS dur_ns FROM all_collectives \
                       GROUP BY group_id, rank ORDER BY dur_ns DESC, rank LIMIT 10";

/// The command and the run that it is asked about.
struct Questions<'a> {
    program: &'a Path,
    run: &'a Path,
}

impl Questions<'_> {
    fn command(&self, program: &Path, statement: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("sql").arg(self.run).arg(statement).args(["--no-fresh", "-f", "csv", "--quiet"]);
        command
    }

    fn ask(&self, program: &Path, statement: &str, more: &[&str]) -> Result<Measured> {
        measured(self.command(program, statement).args(more))
    }
}

/// Questions about a job of many ranks, and with `workers`, the program of workers, the same on three of them.
pub(crate) fn fleet(plan: &Plan, ranks: u32, workers: Option<&Path>) -> Result<(Vec<Row>, Vec<Series>)> {
    let program = plan.stepscope.as_deref().context("no stepscope command: build it, or give --stepscope")?;
    let job = Job { ranks, slow_rank: Some(ranks * 3 / 5), ..Job::scale() };
    let place = plan.scratch.join(format!("fleet-{ranks}"));
    let mut rows = make(&job, &place)?;
    let run = place.join("runs").join(RUN);
    let questions = Questions { program, run: &run };
    let (mut sums, mut ours) = (Series::new("a question on sums"), Series::new("a sum by group and rank"));
    let mut bare = Series::new("bare DataFusion");
    let expected = (questions.ask(program, STEP_TIMES, &[])?.text, questions.ask(program, BY_RANK, &[])?.text);
    // In turns, so that all have the same neighbors on a busy machine.
    for _ in 0..=plan.repetitions {
        sums.repeat(|| Ok(checked(questions.ask(program, STEP_TIMES, &[])?, &expected.0)));
        ours.repeat(|| Ok(checked(questions.ask(program, BY_RANK, &[])?, &expected.1)));
        bare.repeat(|| Ok(checked(measured(child::this()?.arg("scan-blocks").arg(&run).arg(BY_RANK))?, &expected.1)));
    }
    let figure = |series: &Series, limit: f64| {
        let of = || Some((series.shortest()?, "s", format!("{} runs", series.seconds.len())));
        Row::of_series(format!("{ranks} ranks: {}", series.name), &[series], of).with_bar(plan.bar(Bar::AtMost(limit)))
    };
    rows.extend([
        figure(&sums, 1.0),
        figure(&ours, 30.0),
        Row::ratio("the same ÷ bare DataFusion", &ours, &bare).with_bar(plan.bar(Bar::AtMost(1.2))),
        Row::memory("peak RSS of the sum by group and rank", &ours).with_bar(plan.bar(Bar::AtMost(954.0))),
        Row::memory("peak RSS of bare DataFusion", &bare),
    ]);
    let mut series = vec![sums, ours, bare];
    if let Some(program) = workers {
        let (more, on_workers) = workers::rows(plan, program, &place, &questions, &series[1])?;
        rows.extend(more);
        series.push(on_workers);
    }
    Ok((rows, series))
}

fn checked(measured: Measured, expected: &str) -> Run {
    let Measured { seconds, peak_rss_bytes, text } = measured;
    let problems = if text == expected { Vec::new() } else { vec!["another answer".to_owned()] };
    Run { seconds, cpu_seconds: None, peak_rss_bytes: Some(peak_rss_bytes), problems }
}

/// Simulates the job and merges it into blocks, unless that was done before.
fn make(job: &Job, place: &Path) -> Result<Vec<Row>> {
    let done = place.join("done");
    if done.exists() {
        return Ok(Vec::new());
    }
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place)?;
    let folder = tempfile::Builder::new().prefix("fleet-").tempdir_in(place.parent().unwrap_or(place))?;
    let begin = Instant::now();
    let store = Store::create(folder.path())?;
    write_store(job, &store, RUN).context("cannot simulate the job")?;
    let simulated = begin.elapsed().as_secs_f64();
    let bucket = Bucket::open(&Place::Folder(place.to_owned()))?;
    for record in store.sources(RUN)? {
        let mut bytes = Vec::new();
        write_pack(&store, &record, Depth::Sums, &mut bytes, place)?;
        bucket.put_new(&PackName::of(&record, Depth::Sums).object_key(RUN), bytes)?;
    }
    folder.close()?;
    let begin = Instant::now();
    let options = CompactOptions { settle: Duration::ZERO, all: true, ..CompactOptions::default() };
    let merged = compact(&bucket, RUN, &options, QUIET)?;
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(merged.merged == u64::from(job.ranks), "{} of {} ranks are in blocks", merged.merged, job.ranks);
    let found = verify(&bucket, RUN, UNWATCHED)?;
    ensure!(found.problems.is_empty(), "{}", found.problems.join("; "));
    fs::write(done, "")?;
    let mb = found.pack_bytes as f64 / 1e6;
    Ok(vec![
        Row::figure("simulation of the job", simulated, "s").with_note("not a part of Stepscope's work"),
        Row::figure("compaction", seconds, "s").with_note(&format!("{mb:.0} MB of packs, {:.0} MB/s", mb / seconds)),
    ])
}
