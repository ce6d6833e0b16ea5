//! All sources uploaded once, by processes that are killed and started again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use stepscope_gather::Spool;
use stepscope_objects::{Bucket, Place, Settings, UNWATCHED};
use stepscope_store::marker;
use stepscope_store::pack::PackName;
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, Random, S3Server};

use super::{BROKEN_PERCENT, Share, Sources, Wanted, worker};
use crate::child;

/// How long a round may take at most.
const TIME_LIMIT: Duration = Duration::from_mins(20);

/// Longest wait between the point at which a process is to be killed and its end.
const LATE_MS: usize = 30;

/// What was found after a round.
pub(super) struct Outcome {
    pub(super) seconds: f64,
    pub(super) acknowledged: usize,
    pub(super) lost: Vec<String>,
    pub(super) doubled: Vec<String>,
    pub(super) different: Vec<String>,
    pub(super) left: Vec<String>,
    pub(super) failures: Vec<String>,
    pub(super) kills: u32,
    pub(super) requests: BTreeMap<String, u64>,
    pub(super) broken: u64,
}

/// A round without faults, whose requests are counted.
pub(super) fn calm(sources: &Sources, folder: &Path, wanted: Wanted) -> Result<Outcome> {
    run(sources, folder, wanted, FaultPlan::none())
}

/// A round in which a part of the requests break.
pub(super) fn rough(sources: &Sources, folder: &Path, wanted: Wanted) -> Result<Outcome> {
    // Uploads list nothing.
    let faults = Fault::ALL.into_iter().filter(|fault| *fault != Fault::TruncatedList).collect();
    run(sources, folder, wanted, FaultPlan { faults, ..FaultPlan::every_way(wanted.seed, BROKEN_PERCENT) })
}

fn run(sources: &Sources, folder: &Path, wanted: Wanted, plan: FaultPlan) -> Result<Outcome> {
    let acknowledged = folder.join("acknowledged");
    fs::create_dir_all(&acknowledged)?;
    fs::write(worker::hold(&acknowledged), "")?;
    let server = S3Server::start()?;
    let place = format!("s3://{}/fleet", S3Server::BUCKET);
    let direct = Settings::new(S3Server::environment(server.address()));
    let bucket = Bucket::open_with(&Place::parse(&place)?, &direct)?;
    // Whoever is first writes the marker. Here that is not one of those whose requests are counted.
    marker::ensure(&bucket)?;
    let proxy = FaultProxy::start(server.address(), plan)?;
    let spool = folder.join("spool");
    let share = |first: u32| Share {
        store: sources.store.root().to_owned(),
        spool: spool.clone(),
        acknowledged: acknowledged.clone(),
        place: place.clone(),
        first,
        stride: wanted.processes,
        end: wanted.sources,
    };
    let begin = Instant::now();
    let environment = S3Server::environment(proxy.address());
    let shares = (0..wanted.processes.min(wanted.sources)).map(share);
    let mut crew = Crew::start(shares.collect(), environment)?;
    crew.kill_by_and_by(wanted, &acknowledged)?;
    fs::remove_file(worker::hold(&acknowledged))?;
    crew.wait()?;
    let seconds = begin.elapsed().as_secs_f64();

    let mut outcome = Outcome {
        seconds,
        acknowledged: (0..wanted.sources).filter(|rank| worker::acknowledgment(&acknowledged, *rank).exists()).count(),
        lost: Vec::new(),
        doubled: Vec::new(),
        different: Vec::new(),
        left: Vec::new(),
        failures: std::mem::take(&mut crew.failures),
        kills: crew.kills,
        requests: proxy.requests(),
        broken: proxy.broken().values().sum(),
    };
    compare(sources, &bucket, &acknowledged, &mut outcome)?;
    let left = Spool::at(&spool, 0).state()?;
    if left.packs > 0 || left.refused > 0 {
        outcome.left.push(format!("{left:?}"));
    }
    Ok(outcome)
}

/// Looks at every object, past the proxy.
fn compare(sources: &Sources, bucket: &Bucket, acknowledged: &Path, outcome: &mut Outcome) -> Result<()> {
    let listed = bucket.list("", UNWATCHED)?;
    let keys: Vec<String> = listed.into_iter().map(|entry| entry.key).filter(|key| key != marker::MARKER).collect();
    let mut ranks = BTreeSet::new();
    for key in &keys {
        let name = PackName::parse(key).filter(|_| sources.packs.contains_key(key));
        if !name.is_some_and(|(_, name)| ranks.insert(name.id)) {
            outcome.doubled.push(key.clone());
        }
    }
    for (key, bytes) in &sources.packs {
        if keys.binary_search(key).is_err() {
            let rank = PackName::parse(key).map(|(_, name)| name.id.rank);
            if rank.is_some_and(|rank| worker::acknowledgment(acknowledged, rank).exists()) {
                outcome.lost.push(key.clone());
            }
        } else if bucket.get(key, UNWATCHED)? != bytes {
            outcome.different.push(key.clone());
        }
    }
    Ok(())
}

/// The processes at work. None outlives this.
struct Crew {
    environment: BTreeMap<String, String>,
    members: Vec<Member>,
    kills: u32,
    failures: Vec<String>,
    deadline: Instant,
}

struct Member {
    share: Share,
    /// `None` when it has ended by itself.
    process: Option<Child>,
}

impl Crew {
    fn start(shares: Vec<Share>, environment: BTreeMap<String, String>) -> Result<Self> {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut crew = Self { environment, members: Vec::new(), kills: 0, failures: Vec::new(), deadline };
        for share in shares {
            let process = Some(spawn(&share, &crew.environment)?);
            crew.members.push(Member { share, process });
        }
        Ok(crew)
    }

    /// Kills processes at random points of the work, and starts each again.
    fn kill_by_and_by(&mut self, wanted: Wanted, acknowledged: &Path) -> Result<()> {
        let mut random = Random::new(wanted.seed);
        let mut points: Vec<usize> = (0..wanted.kills).map(|_| random.below(wanted.sources as usize)).collect();
        points.sort_unstable();
        for point in points {
            while fs::read_dir(acknowledged)?.count() < point && self.look()? {
                thread::sleep(Duration::from_millis(2));
            }
            thread::sleep(Duration::from_millis(random.below(LATE_MS) as u64));
            self.look()?;
            let alive: Vec<usize> = (0..self.members.len()).filter(|at| self.members[*at].process.is_some()).collect();
            if alive.is_empty() {
                return Ok(());
            }
            let victim = &mut self.members[alive[random.below(alive.len())]];
            if let Some(process) = &mut victim.process {
                process.kill()?;
                process.wait()?;
                self.kills += 1;
            }
            victim.process = Some(spawn(&victim.share, &self.environment)?);
        }
        Ok(())
    }

    /// Waits until all have ended by themselves.
    fn wait(&mut self) -> Result<()> {
        while self.look()? {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Notes who has ended; false when all have.
    fn look(&mut self) -> Result<bool> {
        for member in &mut self.members {
            let Some(process) = &mut member.process else { continue };
            if let Some(status) = process.try_wait()? {
                if !status.success() {
                    self.failures.push(format!("the one from rank {} with {status}", member.share.first));
                }
                member.process = None;
            }
        }
        if Instant::now() > self.deadline {
            bail!("uploads took longer than {} minutes", TIME_LIMIT.as_secs() / 60);
        }
        Ok(self.members.iter().any(|member| member.process.is_some()))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for process in self.members.iter_mut().filter_map(|member| member.process.as_mut()) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn spawn(share: &Share, environment: &BTreeMap<String, String>) -> Result<Child> {
    let mut command = child::this()?;
    command.arg("upload-share").arg(&share.store).arg(&share.spool).arg(&share.acknowledged).arg(&share.place);
    for number in [share.first, share.stride, share.end] {
        command.arg(number.to_string());
    }
    Ok(command.envs(environment).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
}
