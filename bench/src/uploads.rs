//! Uploads by many processes that are killed, through a network that breaks: is every source that was kept in the bucket,
//! once, and as it was kept?

mod round;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;
use stepscope_store::pack::{Depth, PackName, write_pack};

use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::series::Series;

use round::Outcome;
pub(crate) use worker::{Share, work};

/// The run of every source.
const RUN: &str = "uploads";

/// Requests of a hundred that break.
const BROKEN_PERCENT: usize = 20;

/// How much is uploaded, by whom, and how often that is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) sources: u32,
    pub(crate) kills: u32,
    pub(crate) processes: u32,
    pub(crate) seed: u64,
}

/// Sources in a store, and the pack of each by the key of its object.
pub(crate) struct Sources {
    store: Store,
    packs: BTreeMap<String, Vec<u8>>,
}

pub(crate) fn uploads(plan: &Plan, wanted: Wanted) -> Result<(Vec<Row>, Vec<Series>)> {
    std::fs::create_dir_all(&plan.scratch).with_context(|| format!("cannot create {}", plan.scratch.display()))?;
    let folder = tempfile::Builder::new().prefix("uploads-").tempdir_in(&plan.scratch)?;
    let sources = Sources::simulate(&folder.path().join("store"), wanted)?;
    let unharmed = Wanted { kills: 0, ..wanted };
    let calm = round::calm(&sources, &folder.path().join("calm"), unharmed)?;
    let rough = round::rough(&sources, &folder.path().join("rough"), wanted)?;
    let per_source = calm.requests.get("PUT").copied().unwrap_or(0) as f64 / f64::from(wanted.sources);
    let mut rows = verdicts("calm", &calm, unharmed);
    rows.push(Row::figure("calm: PUT requests per source", per_source, "").with_bar(Some(Bar::AtMost(1.0))));
    if per_source > 1.0 {
        rows.push(Row::without("calm: more than one PUT per source", Status::Failed, format!("{:?}", calm.requests)));
    }
    rows.extend(verdicts("rough", &rough, wanted));
    Ok((rows, Vec::new()))
}

impl Sources {
    fn simulate(folder: &Path, wanted: Wanted) -> Result<Self> {
        let store = Store::create(folder)?;
        let job = Job {
            ranks: wanted.sources,
            steps: 2,
            layers: 2,
            collectives_per_step: 1,
            seed: wanted.seed,
            ..Job::default()
        };
        write_store(&job, &store, RUN)?;
        let mut packs = BTreeMap::new();
        for record in store.sources(RUN)? {
            let mut bytes = Vec::new();
            write_pack(&store, &record, Depth::Full, &mut bytes, folder)?;
            packs.insert(PackName::of(&record, Depth::Full).object_key(RUN), bytes);
        }
        Ok(Self { store, packs })
    }
}

/// The rows of a round: what must be none, and what it took.
fn verdicts(name: &str, outcome: &Outcome, wanted: Wanted) -> Vec<Row> {
    let none = |what: &str, found: &[String]| {
        let what = format!("{name}: {what}");
        match found.first() {
            None => Row::figure(what, 0.0, "").with_bar(Some(Bar::AtMost(0.0))),
            Some(first) => Row::without(what, Status::Failed, format!("{}, such as {first}", found.len())),
        }
    };
    let figure = |what: &str, figure: f64, unit| Row::figure(format!("{name}: {what}"), figure, unit);
    let requests: u64 = outcome.requests.values().sum();
    let killed = match outcome.kills {
        kills if kills >= wanted.kills => figure("processes killed", f64::from(kills), ""),
        kills => Row::without(format!("{name}: processes killed"), Status::Failed, format!("only {kills}")),
    };
    vec![
        figure("sources acknowledged", outcome.acknowledged as f64, ""),
        none("acknowledged and not in the bucket", &outcome.lost),
        none("in the bucket twice, or never kept", &outcome.doubled),
        none("other bytes than were kept", &outcome.different),
        none("left in the spool", &outcome.left),
        none("processes that failed", &outcome.failures),
        killed,
        figure("requests broken", 100.0 * outcome.broken as f64 / requests.max(1) as f64, "%")
            .with_note(&format!("of {requests}")),
        figure("time", outcome.seconds, "s").with_note(&format!("{} processes", wanted.processes)),
    ]
}
