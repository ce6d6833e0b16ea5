//! The graph of several ranks of a job, which wait for each other at collectives, with what it answers (A9).
//!
//! All times are by the clock of the first rank.

mod clock;
mod joins;
mod matching;

use stepscope_model::StepSource;

use self::clock::clock_offsets;
use self::joins::{Joined, add_joins};
use self::matching::{Matched, match_ranks};
use crate::changes::{Change, Changer};
use crate::class::{EdgeKind, PathClass};
use crate::draft::{Draft, Node};
use crate::graph::{DROPPED, Graph};
use crate::model::Replayed;
use crate::path::{Paths, PieceOf};
use crate::rank::{Rank, RankFacts};
use crate::reason;
use crate::recording::Recording;
use crate::saving::{Baseline, Confidence, Saving, error_ratio, misfit};
use crate::steps::{bounds, durations};
use crate::window::Step;

/// What waited for what in the same window of several ranks.
#[derive(Clone, Debug)]
pub struct JobModel {
    ranks: Vec<Rank>,
    facts: Vec<RankFacts>,
    clock_offsets_ns: Vec<Option<i64>>,
    collectives: usize,
    unmatched: Vec<(i64, &'static str)>,
    joined: Joined,
    /// For each rank the places of the edges by which it arrives at collectives.
    arrivals: Vec<Vec<u32>>,
    graph: Graph,
    anchored_lags: Vec<i64>,
    strict_lags: Vec<i64>,
    strict_ns: Vec<i64>,
    rank_strict_ns: Vec<Vec<i64>>,
    unexplained_ns: i64,
}

/// A step of a job: from the first rank that begins it to the last that ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// Name of the mark on the first rank.
    pub name: String,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// The critical path of a step of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPath {
    /// The pieces, the first one first; together they are the step.
    pub pieces: Vec<PieceOf>,
    /// Time by class.
    pub classes_ns: [i64; PathClass::ALL.len()],
    /// Time on each rank.
    pub on_rank_ns: Vec<i64>,
    /// Time of transfers between ranks, which is on none of them.
    pub transfer_ns: i64,
}

/// What is left of a step when nobody waits in a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EqualRanks {
    /// Place of the rank that all would be like.
    pub median: usize,
    /// For each rank the length of its steps without waiting in collectives.
    pub local_ns: Vec<i64>,
    /// Lengths of the steps if all were like the median one.
    pub step_ns: Vec<i64>,
}

impl JobStep {
    /// Length.
    #[must_use]
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl JobModel {
    /// Builds the graph of the same window of several ranks; the reason if there is none.
    pub fn build(mut recordings: Vec<Recording>) -> Result<Self, &'static str> {
        recordings.sort_by_key(|recording| recording.rank);
        if recordings.iter().any(|recording| recording.window.steps.is_empty()) {
            return Err(reason::NO_COMPLETE_STEP);
        }
        if recordings.len() < 2 {
            return Err(reason::ONE_RANK);
        }
        let Matched { groups, unmatched } = match_ranks(&recordings);
        let collectives = groups.iter().map(|group| group.rows().count()).sum();
        if collectives == 0 {
            return Err(unmatched.first().map_or(reason::NO_COMMUNICATION, |(_, reason)| reason));
        }
        if !are_steps_equal(&recordings) {
            return Err(reason::STEPS_DIFFER);
        }
        let clock_offsets_ns = clock_offsets(&recordings, &groups);
        let mut draft = Draft::default();
        let (mut ranks, mut facts, mut devices) = (Vec::new(), Vec::new(), Vec::new());
        for (mut recording, offset_ns) in recordings.into_iter().zip(&clock_offsets_ns) {
            recording.shift(offset_ns.unwrap_or(0));
            let (rank, learned, device) = Rank::add(recording, &mut draft);
            ranks.push(rank);
            facts.push(learned);
            devices.push(device);
        }
        let joined = add_joins(&ranks, &devices, &groups, &mut draft);
        drop(devices);
        let numbered: Vec<_> = ranks.iter().map(|rank| (&rank.recording, rank.nodes.clone())).collect();
        let graph = Graph::new(draft, &numbered).ok_or(reason::CYCLE_IN_THE_GRAPH)?;
        let (anchored_lags, strict_lags) = (graph.anchored_lags(), graph.strict_lags());
        let strict_times = graph.replay(&strict_lags);
        let of_rank = |rank: &Rank| durations(&rank.recording, &rank.steps, &strict_times);
        let mut model = Self {
            strict_ns: job_durations(&ranks, &strict_times),
            rank_strict_ns: ranks.iter().map(of_rank).collect(),
            arrivals: arrivals(&graph, &ranks),
            ranks,
            facts,
            clock_offsets_ns,
            collectives,
            unmatched,
            joined,
            graph,
            anchored_lags,
            strict_lags,
            unexplained_ns: 0,
        };
        let unexplained = PathClass::Unexplained as usize;
        model.unexplained_ns = model.paths().iter().map(|path| path.classes_ns[unexplained]).sum();
        Ok(model)
    }

    /// What the graph was built from, by rank. The clocks agree with that of the first.
    #[must_use]
    pub fn recordings(&self) -> impl ExactSizeIterator<Item = &Recording> {
        self.ranks.iter().map(|rank| &rank.recording)
    }

    /// What was learned about each rank.
    #[must_use]
    pub fn facts(&self) -> &[RankFacts] {
        &self.facts
    }

    /// By how much the clock of each rank was ahead of that of the first; `None` where no collective says.
    #[must_use]
    pub fn clock_offsets_ns(&self) -> &[Option<i64>] {
        &self.clock_offsets_ns
    }

    /// Collectives that were matched, in the window or not.
    #[must_use]
    pub fn collective_count(&self) -> usize {
        self.collectives
    }

    /// Collectives of the window at which the ranks wait for each other.
    #[must_use]
    pub fn join_count(&self) -> usize {
        self.joined.joins.len()
    }

    /// Process groups whose ranks did not do the same, and in what they differ. Their kernels take as long as recorded.
    #[must_use]
    pub fn unmatched(&self) -> &[(i64, &'static str)] {
        &self.unmatched
    }

    /// How many edges of a kind there are.
    #[must_use]
    pub fn edge_count(&self, kind: EdgeKind) -> u64 {
        self.graph.count(kind)
    }

    /// The steps of the window.
    #[must_use]
    pub fn steps(&self) -> Vec<JobStep> {
        let step = |place: usize| {
            let steps = self.ranks.iter().map(|rank| &rank.recording.window_steps()[place]);
            JobStep {
                name: self.ranks[0].recording.window_steps()[place].name.clone(),
                start_ns: steps.clone().map(|step| step.start_ns).min().unwrap_or(0),
                end_ns: steps.map(Step::end_ns).max().unwrap_or(0),
            }
        };
        (0..self.step_count()).map(step).collect()
    }

    /// The critical path of each step of the window, from rank to rank.
    #[must_use]
    pub fn paths(&self) -> Vec<JobPath> {
        let paths = Paths::new(&self.graph, &self.ranks, &self.joined.joins);
        let mut latest: Vec<Option<Node>> = vec![None; self.ranks.len()];
        let path = |(place, step): (usize, JobStep)| {
            for (rank, latest) in self.ranks.iter().zip(&mut latest) {
                let sink = rank.steps[place].sink(&self.graph);
                // A step may end before device work of an earlier one: then that is what ends last.
                let time = |node: Option<Node>| node.map(|node| self.graph.time(node));
                if time(sink) >= time(*latest) {
                    *latest = sink;
                }
            }
            let sink = latest.iter().flatten().copied().max_by_key(|&node| self.graph.latest_first(node));
            let mut pieces = paths.path(sink, step.start_ns);
            // Work launched before the window may end a step without a point of its own.
            if let Some(sink) = sink {
                let from_ns = self.graph.time(sink).max(step.start_ns);
                if from_ns < step.end_ns {
                    pieces.push(paths.piece(sink, (from_ns, step.end_ns), PathClass::RankSkew));
                }
            }
            self.added_up(pieces)
        };
        self.steps().into_iter().enumerate().map(path).collect()
    }

    fn added_up(&self, pieces: Vec<PieceOf>) -> JobPath {
        let mut path = JobPath {
            classes_ns: [0; PathClass::ALL.len()],
            on_rank_ns: vec![0; self.ranks.len()],
            transfer_ns: 0,
            pieces,
        };
        for PieceOf { rank, is_transfer, piece } in &path.pieces {
            path.classes_ns[piece.class as usize] += piece.dur_ns();
            let on = if *is_transfer { &mut path.transfer_ns } else { &mut path.on_rank_ns[*rank] };
            *on += piece.dur_ns();
        }
        path
    }

    /// Recorded lengths of the job's steps.
    #[must_use]
    pub fn recorded_ns(&self) -> Vec<i64> {
        self.steps().iter().map(JobStep::dur_ns).collect()
    }

    /// Lengths of the job's steps by typical lags without a change.
    #[must_use]
    pub fn strict_ns(&self) -> &[i64] {
        &self.strict_ns
    }

    /// Recorded lengths of the steps of one rank.
    #[must_use]
    pub fn rank_recorded_ns(&self, rank: usize) -> Vec<i64> {
        self.ranks[rank].recording.window_steps().iter().map(|step| step.dur_ns).collect()
    }

    /// Lengths of the steps of one rank by typical lags, replayed together with the others.
    #[must_use]
    pub fn rank_strict_ns(&self, rank: usize) -> &[i64] {
        &self.rank_strict_ns[rank]
    }

    /// Whether the replay without a change gives every recorded time of every rank back, as it must.
    #[must_use]
    pub fn is_identity_exact(&self) -> bool {
        let times = self.graph.replay(&self.anchored_lags);
        let is_exact = |rank: &Rank| {
            let replayed = bounds(&rank.recording, &rank.steps, &times);
            let recorded = rank.recording.window_steps().iter().map(|step| (step.start_ns, step.end_ns()));
            replayed.into_iter().eq(recorded)
        };
        times == self.graph.times && self.ranks.iter().all(is_exact)
    }

    /// How far the strict replay is off, as a share of the job's steps; `None` if these have no length.
    #[must_use]
    pub fn strict_error_ratio(&self) -> Option<f64> {
        error_ratio(&self.recorded_ns(), &self.strict_ns)
    }

    /// The same for the steps of one rank.
    #[must_use]
    pub fn rank_strict_error_ratio(&self, rank: usize) -> Option<f64> {
        error_ratio(&self.rank_recorded_ns(rank), &self.rank_strict_ns[rank])
    }

    /// Share of the path that nothing explains.
    #[must_use]
    pub fn unexplained_ratio(&self) -> Option<f64> {
        let recorded = self.recorded_ns().iter().sum::<i64>();
        (recorded != 0).then(|| self.unexplained_ns as f64 / recorded as f64)
    }

    /// Why no saving can be given; `None` if savings can. One rank without launch calls is enough.
    #[must_use]
    pub fn savings_null(&self) -> Option<&'static str> {
        let mut with_facts = self.ranks.iter().zip(&self.facts);
        if !self.ranks.iter().all(Rank::has_launch_calls) {
            Some(reason::LAUNCH_CALLS_NOT_RECORDED)
        } else if !with_facts.all(|(rank, facts)| rank.do_clocks_agree(&facts.notes)) {
            Some(reason::CLOCKS_DISAGREE)
        } else {
            misfit(self.unexplained_ratio(), self.strict_error_ratio())
        }
    }

    /// Why a change has no saving here; `None` if it has one.
    #[must_use]
    pub fn change_null(&self, change: &Change) -> Option<&'static str> {
        let differs = self.unmatched.first().filter(|_| matches!(change, Change::EqualRanks));
        let has_device = self.ranks.iter().any(|rank| !rank.inside.is_empty());
        let no_device = (change.is_about_device() && !has_device).then_some(reason::NO_DEVICE_EVENTS);
        self.savings_null().or(differs.map(|(_, reason)| *reason)).or(no_device)
    }

    /// How far savings can be trusted.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        Confidence::of(self.strict_error_ratio(), self.step_count())
    }

    /// How long the job takes from one step to the next, as recorded.
    #[must_use]
    pub fn recorded_advances_ns(&self) -> Vec<i64> {
        job_advances(&self.ranks, &self.graph.times)
    }

    /// The same by typical lags.
    #[must_use]
    pub fn strict_advances_ns(&self) -> Vec<i64> {
        job_advances(&self.ranks, &self.graph.replay(&self.strict_lags))
    }

    /// How long the job takes from one step to the next with changes made together, which `changes` gives for the recording of each rank.
    #[must_use]
    pub fn replay(&self, changes: impl Fn(&Recording) -> Vec<Change>) -> Replayed {
        let changes: Vec<Vec<Change>> = self.recordings().map(changes).collect();
        let is_equal = changes.iter().flatten().any(|change| matches!(change, Change::EqualRanks));
        let alone = is_equal.then(|| self.median(&self.local_ns()));
        let on_rank =
            |place: usize| Changer { rank: &self.ranks[place], graph: &self.graph, arrivals: &self.arrivals[place] };
        let with_changes = || changes.iter().enumerate().filter(|(place, _)| alone.is_none_or(|rank| rank == *place));
        let not_before: Vec<(Node, i64)> =
            with_changes().flat_map(|(place, changes)| on_rank(place).not_before(changes)).collect();
        let replay = |lags: &[i64]| {
            let mut lags = lags.to_vec();
            if let Some(rank) = alone {
                self.leave(rank, &mut lags);
            }
            for (place, changes) in with_changes() {
                on_rank(place).apply(changes, &mut lags);
            }
            let times = self.graph.replay_not_before(&lags, &not_before);
            alone.map(|rank| &self.ranks[rank]).map_or_else(
                || job_advances(&self.ranks, &times),
                |rank| durations(&rank.recording, &rank.steps, &times),
            )
        };
        Replayed { anchored_ns: replay(&self.anchored_lags), strict_ns: replay(&self.strict_lags) }
    }

    /// What changes made together save per step of the job. Whether it may be shown is for [`Self::change_null`] to say.
    #[must_use]
    pub fn saving(&self, changes: impl Fn(&Recording) -> Vec<Change>) -> Saving {
        self.saving_of(self.replay(changes))
    }

    /// What a replay saves per step.
    #[must_use]
    pub fn saving_of(&self, Replayed { anchored_ns, strict_ns }: Replayed) -> Saving {
        let baseline = Baseline { recorded_ns: &self.recorded_advances_ns(), strict_ns: &self.strict_advances_ns() };
        Saving::new(baseline, anchored_ns, strict_ns)
    }

    /// The steps if all ranks were like the median one; the reason if ranks of a process group did not do the same.
    pub fn equal_ranks(&self) -> Result<EqualRanks, &'static str> {
        if let Some((_, reason)) = self.unmatched.first() {
            return Err(reason);
        }
        let local_ns = self.local_ns();
        let step_ns = self.replay(|_| vec![Change::EqualRanks]).anchored_ns;
        Ok(EqualRanks { median: self.median(&local_ns), local_ns, step_ns })
    }

    fn step_count(&self) -> usize {
        self.ranks[0].steps.len()
    }

    /// For each rank how long its steps take without waiting in collectives.
    fn local_ns(&self) -> Vec<i64> {
        let wait_ns = |rank: usize| self.joined.parts[rank].iter().map(|part| part.wait_ns).sum::<i64>();
        (0..self.ranks.len()).map(|rank| self.rank_recorded_ns(rank).iter().sum::<i64>() - wait_ns(rank)).collect()
    }

    /// The lower median of ranks, by their local time and then by rank.
    fn median(&self, local_ns: &[i64]) -> usize {
        let mut ranks: Vec<usize> = (0..self.ranks.len()).collect();
        ranks.sort_by_key(|&rank| (local_ns[rank], rank));
        ranks[ranks.len().div_ceil(2) - 1]
    }

    /// Gives a rank lags by which it waits for no other: each collective takes its transfer from the own start on.
    fn leave(&self, rank: usize, lags: &mut [i64]) {
        for part in &self.joined.parts[rank] {
            for place in self.graph.edges_into(part.end) {
                lags[place] = match self.graph.edges[place].kind {
                    EdgeKind::Join => DROPPED,
                    EdgeKind::Idle => part.transfer_ns,
                    _ => lags[place].min(part.transfer_ns),
                };
            }
        }
    }
}

/// Whether the windows of all ranks are the same steps. Numbers of steps are compared where there are numbers.
fn are_steps_equal(recordings: &[Recording]) -> bool {
    let names = |recording: &Recording| -> Vec<String> {
        let is_numbered = recording.step_source == StepSource::ProfilerStep;
        let name = |step: &Step| if is_numbered { step.name.clone() } else { String::new() };
        recording.window_steps().iter().map(name).collect()
    };
    recordings.windows(2).all(|pair| names(&pair[0]) == names(&pair[1]))
}

/// For each rank the places of the edges by which it arrives at collectives.
fn arrivals(graph: &Graph, ranks: &[Rank]) -> Vec<Vec<u32>> {
    let mut arrivals = vec![Vec::new(); ranks.len()];
    let first_join = ranks.last().map_or(0, |rank| rank.nodes.end);
    for (_, edges) in graph.with_edges(first_join..graph.times.len() as Node) {
        for place in edges {
            let source = graph.edges[place].source;
            let rank = ranks.partition_point(|rank| rank.nodes.end <= source);
            arrivals[rank].push(place as u32);
        }
    }
    arrivals
}

/// Lengths of the job's steps at the given times: from the first rank that begins a step to the last that ends it.
fn job_durations(ranks: &[Rank], times: &[i64]) -> Vec<i64> {
    job_bounds(ranks, times).into_iter().map(|(start, end)| end - start).collect()
}

/// How long the job takes from one step to the next: from the last rank that ends the step before to the last that ends
/// this one. Steps of a job overlap where ranks run ahead; these times do not, so they add up to the whole.
fn job_advances(ranks: &[Rank], times: &[i64]) -> Vec<i64> {
    let bounds = job_bounds(ranks, times);
    let mut before = bounds.first().map_or(0, |(start, _)| *start);
    let advance = |(_, end): (i64, i64)| {
        let end = end.max(before);
        let advance = end - before;
        before = end;
        advance
    };
    bounds.into_iter().map(advance).collect()
}

fn job_bounds(ranks: &[Rank], times: &[i64]) -> Vec<(i64, i64)> {
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for rank in ranks {
        let own = bounds(&rank.recording, &rank.steps, times);
        if steps.is_empty() {
            steps = own;
            continue;
        }
        for (step, own) in steps.iter_mut().zip(own) {
            *step = (step.0.min(own.0), step.1.max(own.1));
        }
    }
    steps
}
