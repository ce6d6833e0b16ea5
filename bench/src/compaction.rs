//! Compactors that are killed while packs come in, and readers beside them: is every source in one block, is no manifest
//! missing, and do blocks and packs say the same?

mod compare;
mod crew;
mod feed;
mod reader;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use stepscope_gather::{CompactOptions, ExpireOptions, QUIET, compact, expire, verify};
use stepscope_objects::{Bucket, Place, Settings, UNWATCHED};
use stepscope_store::{manifest, marker};
use stepscope_testkit::{FaultPlan, FaultProxy, S3Server};

use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::series::Series;

use crew::Crew;
pub(crate) use crew::{CompactLoop, work};
use feed::Feed;
use reader::Readings;

/// The run of every pack.
const RUN: &str = "compaction";

/// Retired blocks are kept for a day. The clock of whoever deletes them is ahead, so that it is five seconds here, and
/// blocks are deleted while readers read.
const AHEAD: Duration = Duration::from_secs(24 * 3600 - 5);

/// Readers at once.
const READERS: u64 = 3;

/// How much is compacted, by whom, and how often that is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) packs: u32,
    pub(crate) kills: u32,
    pub(crate) processes: u32,
    pub(crate) seed: u64,
}

pub(crate) fn compaction(plan: &Plan, wanted: Wanted) -> Result<(Vec<Row>, Vec<Series>)> {
    std::fs::create_dir_all(&plan.scratch).with_context(|| format!("cannot create {}", plan.scratch.display()))?;
    let folder = tempfile::Builder::new().prefix("compaction-").tempdir_in(&plan.scratch)?;
    let server = S3Server::start()?;
    let place = format!("s3://{}/fleet", S3Server::BUCKET);
    let open = |address| {
        let settings = Settings::new(S3Server::environment(address));
        anyhow::Ok(Bucket::open_with(&Place::parse(&place)?, &settings)?)
    };
    let bucket = open(server.address())?;
    marker::ensure(&bucket)?;
    // Nothing breaks here: the requests of the compactors are counted.
    let proxy = FaultProxy::start(server.address(), FaultPlan::none())?;

    let begin = Instant::now();
    let is_over = AtomicBool::new(false);
    let loop_of = CompactLoop { place, stop: folder.path().join("stop"), scratch: folder.path().to_owned() };
    let mut crew = Crew::start(wanted, &loop_of, S3Server::environment(proxy.address()))?;
    let (fed, killed, readings, expired) = thread::scope(|scope| {
        let feeder = scope.spawn(|| Feed::new(wanted).upload(&bucket));
        let read = |seed: u64| {
            scope.spawn({
                let (bucket, is_over) = (&bucket, &is_over);
                move || reader::read(bucket, is_over, seed)
            })
        };
        let readers: Vec<_> = (0..READERS).map(read).collect();
        let sweeper = scope.spawn(|| expire_by_and_by(&bucket, &is_over));
        let killed = crew.kill_by_and_by(wanted);
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ended = killed.and_then(|()| crew.end(&loop_of));
        is_over.store(true, Ordering::Relaxed);
        let mut readings = Readings::default();
        for reader in readers {
            readings.add(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        let expired = sweeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (fed, ended, readings, expired)
    });
    killed?;
    let (recordings, expired) = (fed?, expired?);
    let seconds = begin.elapsed().as_secs_f64();
    let last = compact(&bucket, RUN, &at_once(None), QUIET)?;
    let mut rows = verdicts(&bucket, recordings, &readings)?;
    rows.extend(crew.rows(wanted));
    let requests: u64 = proxy.requests().values().sum();
    let figure = |what: &str, figure: f64| Row::figure(what, figure, "");
    rows.push(figure("blocks deleted meanwhile", expired as f64));
    rows.push(figure("manifests", last.manifest as f64));
    rows.push(figure("requests of compactors", requests as f64).with_note(&format!("{:?}", proxy.requests())));
    rows.push(Row::figure("time", seconds, "s").with_note(&format!("{} processes", wanted.processes)));
    Ok((rows, Vec::new()))
}

/// What must be none.
fn verdicts(bucket: &Bucket, recordings: u64, readings: &Readings) -> Result<Vec<Row>> {
    let found = verify(bucket, RUN, UNWATCHED)?;
    let newest = manifest::read_newest(bucket, RUN)?.context("no manifest")?;
    let compared = compare::compare(bucket, &newest)?;
    let count = |what: &str, found: u64, wanted: u64| {
        if found == wanted {
            Row::figure(what, found as f64, "").with_bar(Some(Bar::AtLeast(wanted as f64)))
        } else {
            Row::without(what, Status::Failed, format!("{found} instead of {wanted}"))
        }
    };
    Ok(vec![
        count("sources in exactly one block", found.sources, recordings),
        none("packs in no block", &vec!["packs".to_owned(); found.unmerged as usize]),
        none("problems of manifests, blocks and packs", &found.problems),
        none("tables that differ between blocks and packs", &compared.different),
        Row::figure("rows compared", compared.rows as f64, ""),
        Row::figure("blocks", found.blocks as f64, "").with_note(&format!("{} retired", newest.retired.len())),
        none("wrong answers and errors of readers", &readings.problems),
        count("readers had answers", u64::from(readings.count > 0), 1),
        Row::figure("answers of readers", readings.count as f64, "").with_note(&format!("{} rows", readings.rows)),
    ])
}

fn none(what: &str, found: &[String]) -> Row {
    match found.first() {
        None => Row::figure(what, 0.0, "").with_bar(Some(Bar::AtMost(0.0))),
        Some(first) => Row::without(what, Status::Failed, format!("{}, such as {first}", found.len())),
    }
}

/// Deletes retired blocks while others work; how many.
fn expire_by_and_by(bucket: &Bucket, is_over: &AtomicBool) -> Result<u64> {
    let mut deleted = 0;
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(500));
        let now = SystemTime::now().duration_since(UNIX_EPOCH)? + AHEAD;
        let now_ns = Some(i64::try_from(now.as_nanos())?);
        match expire(bucket, RUN, &ExpireOptions { yes: true, now_ns, ..ExpireOptions::default() }, UNWATCHED) {
            Ok(done) => deleted += done.deleted.len() as u64,
            Err(error) if error.is_temporary() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(deleted)
}

fn at_once(scratch: Option<PathBuf>) -> CompactOptions {
    CompactOptions { settle: Duration::ZERO, scratch, ..CompactOptions::default() }
}
