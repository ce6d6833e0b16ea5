//! Replays for findings: which ranks are replayed, what their steps show to the rules, and what changes save.

mod details;
mod evidence;
mod names;
mod remedies;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use stepscope_model::null_reason::{NO_COMPLETE_STEP, UNSUPPORTED_EVENT_KIND};
use stepscope_model::tables::SPANS;
use stepscope_model::{Class, PredictedSaving, SourceId, SourceRecord};
use stepscope_replay::recording::Recording;
use stepscope_replay::{Bound, Change, Confidence, JobModel, Replayed, Saving};
use stepscope_rules::{Part, Remedy, SlowLink, Window, Work};
use stepscope_runs::RunError;

use self::evidence::{Details, Evidence};
use super::Asking;
use super::step_model::ModeledSteps;
use super::step_times::StepTime;

/// Why nothing says what the profiler costs.
const OVERHEAD_NOT_RECORDED: &str = "cost of stacks not recorded";

/// Ranks that are replayed together at most.
const MOST_TOGETHER: usize = 8;

/// The ranks that are replayed: all of a few, together; of many the one in the middle and the slowest, each alone.
pub(super) struct Replays<'a> {
    asking: &'a Asking<'a>,
    /// Alone: the one in the middle first.
    ranks: Vec<ReplayedRank>,
    /// All of them together, where they wait for each other in collectives.
    job: Option<JobModel>,
    /// Why none could be replayed.
    reason: &'static str,
}

/// A recording that is replayed.
struct ReplayedRank {
    id: SourceId,
    steps: ModeledSteps,
    details: Details,
    evidence: Evidence,
    /// Slow links that it communicates over.
    slow_links: Vec<SlowLink>,
}

impl<'a> Replays<'a> {
    /// Builds the models of all ranks if there are few. Of many, of those that matter: two by their `steps`, and one for
    /// each slow link.
    pub(super) fn of(asking: &'a Asking<'a>, steps: &[StepTime], slow_links: &[SlowLink]) -> Result<Self, RunError> {
        let job = job_of(asking)?;
        let mut replays = Self { asking, ranks: Vec::new(), job: None, reason: NO_COMPLETE_STEP };
        let all = || asking.sources.iter().map(|source| source.id).collect();
        let ids = if job.is_some() { all() } else { that_matter(steps, slow_links) };
        for id in ids {
            let Some(source) = asking.sources.iter().copied().find(|source| source.id == id) else { continue };
            // A store of sums alone has nothing to replay.
            if source.rows.of(&SPANS) == 0 {
                replays.reason = UNSUPPORTED_EVENT_KIND;
                continue;
            }
            match asking.step_model(source)?.steps {
                Ok(mut steps) => {
                    steps.asked = in_time_range(asking, source, &steps);
                    if steps.asked.is_empty() {
                        continue;
                    }
                    let details = details::read(asking, id, steps.model())?;
                    let evidence = Evidence::of(&steps, &details);
                    let is_on = |link: &&SlowLink| job.is_some() || link.rank == id.rank;
                    let slow_links = slow_links.iter().filter(is_on).cloned().collect();
                    replays.ranks.push(ReplayedRank { id, steps, details, evidence, slow_links });
                }
                Err(reason) => replays.reason = reason,
            }
        }
        replays.job = job.filter(|job| replays.is_whole(job));
        Ok(replays)
    }

    /// Whether the job has the steps of every rank that are asked about, and no others.
    fn is_whole(&self, job: &JobModel) -> bool {
        let of_rank = |recording: &Recording| self.ranks.iter().find(|rank| rank.id.rank == recording.rank);
        let is_same = |recording: &Recording| {
            of_rank(recording).is_some_and(|rank| {
                let model = rank.steps.model();
                let own = model.recording();
                let is_alike = own.window.steps == recording.window.steps && own.spans.len() == recording.spans.len();
                is_alike && own.events.len() == recording.events.len() && rank.steps.asked.len() == model.steps().len()
            })
        };
        job.recordings().all(is_same)
    }

    /// What the rules may know about the replayed steps.
    pub(super) fn window(&self) -> Option<Window> {
        let steps = self.ranks.iter().flat_map(|rank| rank.evidence.steps.iter().cloned()).collect();
        (!self.ranks.is_empty()).then_some(Window { steps })
    }

    /// The ranks that were replayed.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.ranks.iter().map(|rank| rank.id.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    /// How long a replayed step takes on average.
    pub(super) fn step_ns(&self) -> f64 {
        if let Some(job) = &self.job {
            let steps_ns = job.recorded_advances_ns();
            return steps_ns.iter().sum::<i64>() as f64 / steps_ns.len().max(1) as f64;
        }
        self.window().map_or(0.0, |window| window.per_step(|step| step.dur_ns))
    }

    /// What changes save per step of the job if they are made together on all ranks.
    fn saving_of_job(&self, job: &JobModel, remedies: &[Remedy]) -> Result<Result<PredictedSaving, String>, RunError> {
        let mut bound = Bound::Estimate;
        let mut of_ranks: BTreeMap<u32, Vec<Change>> = BTreeMap::new();
        for rank in &self.ranks {
            let mut changes = vec![Change::LoaderOnTime];
            for remedy in remedies {
                let of_remedy = match remedy {
                    Remedy::EqualRanks => vec![Change::EqualRanks],
                    remedy => rank.changes(*remedy, self.asking, true)?,
                };
                bound = bound.and(remedies::bound(*remedy, &of_remedy));
                changes.extend(of_remedy);
            }
            of_ranks.insert(rank.id.rank, changes);
        }
        if let Some(reason) = of_ranks.values().flatten().find_map(|change| job.change_null(change)) {
            return Ok(Err(reason.to_owned()));
        }
        let replayed = job.replay(|recording| of_ranks.get(&recording.rank).cloned().unwrap_or_default());
        let ratios = self.ranks.iter().map(ReplayedRank::filled_ratio);
        let mean_ratio = ratios.sum::<f64>() / self.ranks.len().max(1) as f64;
        let saving = batch_range(remedies, mean_ratio, |filled| job.saving_of(for_one_batch(&replayed, filled)));
        Ok(Ok(PredictedSaving {
            saving_ns: saving.saving_ns,
            low_ns: saving.low_ns,
            high_ns: saving.high_ns,
            bound: resolved(bound, saving.saving_ns, saving.low_ns).as_text(),
            confidence: job.confidence().as_text(),
        }))
    }

    /// What changes save per step if they are made together, or why that is not known: of the job, or a mean over the
    /// replayed ranks, with a range that has those of all.
    pub(super) fn saving(&self, remedies: &[Remedy]) -> Result<Result<PredictedSaving, String>, RunError> {
        if remedies == [Remedy::Remove(Part::ProfilerOverhead)]
            && self.ranks.iter().all(|rank| rank.evidence.with_overhead.is_empty())
        {
            return Ok(Err(OVERHEAD_NOT_RECORDED.to_owned()));
        }
        if let Some(job) = &self.job {
            return self.saving_of_job(job, remedies);
        }
        let mut savings = Vec::new();
        let mut bound = Bound::Estimate;
        let mut confidence = Confidence::High;
        for rank in
            self.ranks.iter().enumerate().filter(|(place, rank)| rank.shows(*place, remedies)).map(|(_, rank)| rank)
        {
            let mut changes = Vec::new();
            for remedy in remedies {
                let of_remedy = rank.changes(*remedy, self.asking, false)?;
                bound = bound.and(remedies::bound(*remedy, &of_remedy));
                changes.extend(of_remedy);
            }
            changes.push(Change::LoaderOnTime);
            let model = rank.steps.model();
            let null = changes.iter().find_map(|change| model.change_null(change)).or_else(|| model.savings_null());
            if let Some(reason) = null {
                return Ok(Err(reason.to_owned()));
            }
            confidence = confidence.min(model.confidence());
            let replayed = model.replay(&changes);
            savings.push(batch_range(remedies, rank.filled_ratio(), |filled| {
                model.saving_of(&for_one_batch(&replayed, filled), rank.steps.asked.clone())
            }));
        }
        if savings.is_empty() {
            return Ok(Err(self.reason.to_owned()));
        }
        let low_ns = savings.iter().map(|saving| saving.low_ns).fold(f64::INFINITY, f64::min);
        let high_ns = savings.iter().map(|saving| saving.high_ns).fold(0.0, f64::max);
        let saving_ns = savings.iter().map(|saving| saving.saving_ns).sum::<f64>() / savings.len() as f64;
        let (bound, confidence) = (resolved(bound, saving_ns, low_ns).as_text(), confidence.as_text());
        Ok(Ok(PredictedSaving { saving_ns, low_ns, high_ns, bound, confidence }))
    }
}

/// The job of all ranks, if there are few, their collectives match, and a change of it can be replayed.
fn job_of(asking: &Asking<'_>) -> Result<Option<JobModel>, RunError> {
    let has_few = (2..=MOST_TOGETHER).contains(&asking.ranks().len()) && !asking.has_windows();
    let has_spans = |source: &&SourceRecord| source.rows.of(&SPANS) > 0;
    let asks_for_part = asking.steps.is_some() || asking.question.has_time_range();
    if !has_few || asks_for_part || !asking.sources.iter().all(has_spans) {
        return Ok(None);
    }
    let sources: Vec<SourceRecord> = asking.sources.iter().map(|source| (*source).clone()).collect();
    let window = asking.open.job_model(&sources)?;
    Ok(window.ok().map(|window| window.model).filter(|job| job.savings_null().is_none()))
}

/// A bound is claimed where the range begins at this share of the saving or above.
const LEAST_RESOLVED: f64 = 0.75;

/// The bound of a saving whose range begins at `low_ns`. Where that is far below, steps differ too much to claim one.
fn resolved(bound: Bound, saving_ns: f64, low_ns: f64) -> Bound {
    if low_ns > 0.0 && low_ns >= LEAST_RESOLVED * saving_ns { bound } else { Bound::Estimate }
}

/// Parts of the device that a larger batch may fill: with luck all of it.
const FILLED: [f64; 3] = [0.8, 0.9, 1.0];

/// A saving, with a range for how well a larger batch fills the device if that is the change.
fn batch_range(remedies: &[Remedy], filled_ratio: f64, saving: impl Fn(f64) -> Saving) -> Saving {
    if !remedies.contains(&Remedy::Scale(Work::LowOccupancy)) {
        return saving(1.0);
    }
    let [least, usual, most] = FILLED.map(|part| saving((filled_ratio / part).clamp(LEAST_FILLED, 1.0)));
    Saving { low_ns: least.low_ns, high_ns: most.high_ns, ..usual }
}

/// Larger batches than this are not assumed: that part of a step for the work of one.
const LEAST_FILLED: f64 = 0.4;

/// A step with a larger batch does the work of several: how long it takes for that of one.
fn for_one_batch(replayed: &Replayed, filled_ratio: f64) -> Replayed {
    let part = |steps_ns: &[i64]| steps_ns.iter().map(|step_ns| (*step_ns as f64 * filled_ratio) as i64).collect();
    Replayed { anchored_ns: part(&replayed.anchored_ns), strict_ns: part(&replayed.strict_ns) }
}

impl ReplayedRank {
    /// Whether the rank, at its place in the list, shows what changes save.
    fn shows(&self, place: usize, remedies: &[Remedy]) -> bool {
        // What makes ranks equal is worked out on the one in the middle.
        if remedies.contains(&Remedy::EqualRanks) {
            return place == 0;
        }
        // The others of the job wait for the ranks on a slow link.
        !remedies.contains(&Remedy::EvenLinks) || !self.slow_links.is_empty()
    }
}

/// The asked steps that begin in the time that is asked about.
fn in_time_range(asking: &Asking<'_>, source: &SourceRecord, steps: &ModeledSteps) -> Range<usize> {
    let first_ns = source.first_event_ns.unwrap_or(0);
    let place = |time_ns: Option<i64>, otherwise: usize| {
        let bound_ns = time_ns.map(|time_ns| first_ns.saturating_add(time_ns));
        let before = |bound_ns| steps.model().steps().partition_point(|step| step.host_start_ns < bound_ns);
        bound_ns.map_or(otherwise, before)
    };
    let (from, to) = (place(asking.question.from_ns, 0), place(asking.question.to_ns, usize::MAX));
    let start = steps.asked.start.max(from);
    start..steps.asked.end.min(to).max(start)
}

/// What a row must have to be of a recording.
fn condition(of: SourceId) -> String {
    format!("rank = {} AND \"window\" = {}", of.rank, of.window)
}

/// The recording in the middle by the time that its steps take without communication, which is waiting for others mostly,
/// the one that takes longest, and one of each slow link.
fn that_matter(steps: &[StepTime], slow_links: &[SlowLink]) -> Vec<SourceId> {
    let mut times: BTreeMap<(i64, i64), (i64, i64)> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.is_complete) {
        let communication_ns = step.shares.as_ref().map_or(0, |shares| shares.of(Class::Communication));
        let (local_ns, count) = times.entry((step.rank, step.window)).or_default();
        *local_ns += step.dur_ns - communication_ns;
        *count += 1;
    }
    let mean = |(id, (local_ns, count)): ((i64, i64), (i64, i64))| (local_ns / count, id);
    let mut by_time: Vec<_> = times.into_iter().map(mean).collect();
    by_time.sort_unstable();
    let middle = by_time.len().saturating_sub(1) / 2;
    let mut chosen: Vec<_> = by_time.get(middle).into_iter().chain(by_time.last()).map(|(_, id)| *id).collect();
    let on_slow_link = |(rank, _): &(i64, i64)| slow_links.iter().any(|link| i64::from(link.rank) == *rank);
    chosen.extend(by_time.iter().map(|(_, id)| *id).filter(on_slow_link));
    let mut known = BTreeSet::new();
    chosen.retain(|id| known.insert(*id));
    chosen.into_iter().map(|(rank, window)| SourceId { rank: rank as u32, window: window as u32 }).collect()
}
