//! The graph of a window of one rank, with what it answers: paths, replays, savings and why there are none.

mod belonging;
mod holds;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::changes::{Change, Changer};
use crate::class::{EdgeKind, PathClass};
use crate::draft::Draft;
use crate::graph::Graph;
use crate::lags::TypicalLags;
use crate::notes::Notes;
use crate::path::{Paths, Piece, PieceOf};
use crate::rank::{Rank, RankFacts};
use crate::reason;
use crate::recording::{DeviceEvent, Recording};
use crate::saving::{Baseline, Confidence, Saving, error_ratio, misfit};
use crate::steps::{StepNodes, durations};
use crate::window::Step;

pub use holds::Hold;

/// A start is explained within three times the typical lag and this much.
const START_TOLERANCE_NS: i64 = 10_000;

/// What waited for what in a window of a recording.
#[derive(Clone, Debug)]
pub struct StepModel {
    rank: Rank,
    graph: Graph,
    /// Typical lags.
    pub typical: TypicalLags,
    /// What was found and what was contradicted.
    pub notes: Notes,
    /// Launches that the queue of a stream holds, where it filled up; by device and stream.
    pub queue_limits: BTreeMap<String, u64>,
    node_count: u64,
    anchored_lags: Vec<i64>,
    strict_lags: Vec<i64>,
    strict_ns: Vec<i64>,
    anchored_ns: Vec<i64>,
    unexplained_ns: i64,
}

/// The critical path of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPath {
    /// The pieces, the first one first; together they are the step.
    pub pieces: Vec<Piece>,
    /// Time by class.
    pub classes_ns: [i64; PathClass::ALL.len()],
}

/// Lengths of the steps of a window under changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// From recorded lags.
    pub anchored_ns: Vec<i64>,
    /// From typical lags.
    pub strict_ns: Vec<i64>,
}

impl StepModel {
    /// Builds the graph of a recording's window; the reason if there is none.
    pub fn build(recording: Recording) -> Result<Self, &'static str> {
        if recording.window.steps.is_empty() {
            return Err(reason::NO_COMPLETE_STEP);
        }
        let mut draft = Draft::default();
        let (rank, facts, _) = Rank::add(recording, &mut draft);
        let graph = Graph::new(draft, &[(&rank.recording, rank.nodes.clone())]).ok_or(reason::CYCLE_IN_THE_GRAPH)?;
        let (anchored_lags, strict_lags) = (graph.anchored_lags(), graph.strict_lags());
        let RankFacts { typical, notes, queue_limits, node_count } = facts;
        let durations = |lags: &[i64]| durations(&rank.recording, &rank.steps, &graph.replay(lags));
        let mut model = Self {
            typical,
            notes,
            queue_limits,
            node_count,
            strict_ns: durations(&strict_lags),
            anchored_ns: durations(&anchored_lags),
            anchored_lags,
            strict_lags,
            unexplained_ns: 0,
            rank,
            graph,
        };
        let unexplained = PathClass::Unexplained as usize;
        model.unexplained_ns = model.paths().iter().map(|path| path.classes_ns[unexplained]).sum();
        Ok(model)
    }

    /// What the graph was built from.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.rank.recording
    }

    /// The steps of the window.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        self.rank.recording.window_steps()
    }

    /// Kernels, copies and fills of the window, in the order of the file.
    pub fn events(&self) -> impl Iterator<Item = &DeviceEvent> {
        self.rank.inside.iter().map(|&place| &self.rank.recording.events[place as usize])
    }

    /// Points in time, with those of work launched before the window.
    #[must_use]
    pub fn node_count(&self) -> u64 {
        self.node_count
    }

    /// How many edges of a kind there are.
    #[must_use]
    pub fn edge_count(&self, kind: EdgeKind) -> u64 {
        self.graph.count(kind)
    }

    /// The critical path of each step of the window.
    #[must_use]
    pub fn paths(&self) -> Vec<StepPath> {
        let paths = Paths::new(&self.graph, std::slice::from_ref(&self.rank), &[]);
        let path = |(nodes, step): (&StepNodes, &Step)| {
            let pieces = paths.path(nodes.sink(&self.graph), step.start_ns);
            let pieces: Vec<Piece> = pieces.into_iter().map(|PieceOf { piece, .. }| piece).collect();
            let mut classes_ns = [0; PathClass::ALL.len()];
            for piece in &pieces {
                classes_ns[piece.class as usize] += piece.dur_ns();
            }
            StepPath { pieces, classes_ns }
        };
        self.rank.steps.iter().zip(self.steps()).map(path).collect()
    }

    /// Recorded lengths of the steps.
    #[must_use]
    pub fn recorded_ns(&self) -> Vec<i64> {
        self.steps().iter().map(|step| step.dur_ns).collect()
    }

    /// Lengths of the steps by recorded lags without a change: what was recorded.
    #[must_use]
    pub fn anchored_ns(&self) -> &[i64] {
        &self.anchored_ns
    }

    /// Lengths of the steps by typical lags without a change.
    #[must_use]
    pub fn strict_ns(&self) -> &[i64] {
        &self.strict_ns
    }

    /// Whether the replay without a change gives every recorded time back, as it must.
    #[must_use]
    pub fn is_identity_exact(&self) -> bool {
        self.graph.replay(&self.anchored_lags) == self.graph.times && self.anchored_ns == self.recorded_ns()
    }

    /// How far the strict replay is off, as a share of the window; `None` if that has no length.
    #[must_use]
    pub fn strict_error_ratio(&self) -> Option<f64> {
        error_ratio(&self.recorded_ns(), &self.strict_ns)
    }

    /// Share of the path that nothing explains.
    #[must_use]
    pub fn unexplained_ratio(&self) -> Option<f64> {
        let recorded = self.recorded_ns().iter().sum::<i64>();
        (recorded != 0).then(|| self.unexplained_ns as f64 / recorded as f64)
    }

    /// Share of the window's device events that start about when their edges let them.
    #[must_use]
    pub fn starts_explained_ratio(&self) -> Option<f64> {
        let starts = self.graph.points.iter().enumerate().filter(|(_, point)| {
            point.is_start && !point.is_history && matches!(point.subject, crate::draft::Subject::Event(_))
        });
        let explained = starts.filter(|(node, _)| {
            self.graph.binding(*node as u32).is_some_and(|edge| {
                let lag_ns = self.graph.times[*node] - self.graph.time(edge.source);
                matches!(edge.kind, EdgeKind::Overlap | EdgeKind::Staging)
                    || (lag_ns - edge.typical_ns).abs() <= 3 * edge.typical_ns + START_TOLERANCE_NS
            })
        });
        let events = self.rank.inside.len();
        (events > 0).then(|| explained.count() as f64 / events as f64)
    }

    /// Why no saving can be given; `None` if savings can.
    #[must_use]
    pub fn savings_null(&self) -> Option<&'static str> {
        if !self.rank.has_launch_calls() {
            Some(reason::LAUNCH_CALLS_NOT_RECORDED)
        } else if !self.rank.do_clocks_agree(&self.notes) {
            Some(reason::CLOCKS_DISAGREE)
        } else {
            misfit(self.unexplained_ratio(), self.strict_error_ratio())
        }
    }

    /// Whether the window has device events.
    #[must_use]
    pub fn has_device_events(&self) -> bool {
        !self.rank.inside.is_empty()
    }

    /// Why a change has no saving here; `None` if it has one.
    #[must_use]
    pub fn change_null(&self, change: &Change) -> Option<&'static str> {
        if matches!(change, Change::EqualRanks) {
            return Some(reason::ONE_RANK);
        }
        let lacks_device = change.is_about_device() && !self.has_device_events();
        self.savings_null().or(lacks_device.then_some(reason::NO_DEVICE_EVENTS))
    }

    /// How far savings can be trusted.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        Confidence::of(self.strict_error_ratio(), self.rank.steps.len())
    }

    /// Lengths of the steps with changes made together.
    #[must_use]
    pub fn replay(&self, changes: &[Change]) -> Replayed {
        let lag_rules = Changer { rank: &self.rank, graph: &self.graph, arrivals: &[] };
        let not_before = lag_rules.not_before(changes);
        let replay = |lags: &[i64]| {
            let mut lags = lags.to_vec();
            lag_rules.apply(changes, &mut lags);
            let times = self.graph.replay_not_before(&lags, &not_before);
            durations(&self.rank.recording, &self.rank.steps, &times)
        };
        Replayed { anchored_ns: replay(&self.anchored_lags), strict_ns: replay(&self.strict_lags) }
    }

    /// What changes made together save per step. Whether it may be shown is for [`Self::change_null`] to say.
    #[must_use]
    pub fn saving(&self, changes: &[Change]) -> Saving {
        self.saving_of(&self.replay(changes), 0..self.rank.steps.len())
    }

    /// What a replay of the window saves in some of its steps, by their places in it.
    #[must_use]
    pub fn saving_of(&self, replayed: &Replayed, steps: Range<usize>) -> Saving {
        let recorded_ns = self.recorded_ns();
        let of = |all: &[i64]| all.get(steps.clone()).unwrap_or_default().to_vec();
        let baseline = Baseline { recorded_ns: &of(&recorded_ns), strict_ns: &of(&self.strict_ns) };
        Saving::new(baseline, of(&replayed.anchored_ns), of(&replayed.strict_ns))
    }
}
