//! What must hold for any recording: classes add up to their step, and a replay without a change changes nothing.

use stepscope_model::Kind;
use stepscope_replay::document::documented_changes;
use stepscope_replay::{Change, PathClass, Selection};
use stepscope_testkit::Random;

use crate::by_hand::ByHand;

const CALLS: [&str; 6] = [
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaStreamWaitEvent",
    "cudaMalloc",
    "cudaEventQuery",
];

pub(crate) const NAMES: [&str; 5] =
    ["gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", "k"];

/// A rank while it is made: when its thread and its streams are free.
pub(crate) struct Making {
    pub by_hand: ByHand,
    pub now: i64,
    pub free: [i64; 3],
}

impl Making {
    pub(crate) fn new(by_hand: ByHand, random: &mut Random) -> Self {
        Self { by_hand, now: random.below(5) as i64, free: [0; 3] }
    }

    /// Adds random operators, launches, waits and backward work. Times are small, so that many are equal.
    pub(crate) fn work(self, random: &mut Random, names: &[&str]) -> Self {
        let Self { mut by_hand, mut now, mut free } = self;
        for _ in 0..random.below(12) {
            now += random.below(4) as i64;
            let dur = random.below(9) as i64;
            by_hand = match random.below(8) {
                0..=3 => {
                    let stream = random.below(3);
                    let lag = random.below(12) as i64 - i64::from(random.below(20) == 0);
                    // Mostly behind the event before, sometimes on top of it.
                    let queued = if random.below(9) == 0 { 0 } else { free[stream] };
                    let begin = (now + lag).max(queued);
                    let length = random.below(15) as i64;
                    free[stream] = begin + length;
                    let name = names[random.below(names.len())];
                    by_hand.op("aten::mm", now, dur + 2).launch((now + 1, dur), name, stream as i64, (begin, length))
                }
                4 | 5 => by_hand.call(CALLS[random.below(CALLS.len())], now, dur),
                6 => {
                    let name = "autograd::engine::evaluate_function: MmBackward0";
                    by_hand.span(Kind::Op, name, 1, now + 1, (dur - 2).max(0))
                }
                _ => by_hand.op("aten::add", now, dur),
            };
            now += dur + 2;
        }
        now += random.below(3) as i64;
        Self { by_hand, now, free }
    }

    /// Marks everything since a time as a step.
    pub(crate) fn step(mut self, start: i64) -> Self {
        self.by_hand = self.by_hand.step(start, self.now - start);
        self
    }
}

/// A few steps of random work.
fn recording(random: &mut Random) -> ByHand {
    let mut making = Making::new(ByHand::new(), random);
    for _ in 0..=random.below(4) {
        let start = making.now;
        making = making.work(random, &NAMES).step(start);
    }
    making.by_hand
}

#[test]
fn classes_add_up_and_nothing_moves_without_a_change() {
    let mut random = Random::new(19);
    for case in 0..10_000 {
        let recording = recording(&mut random).recording();
        let model = match stepscope_replay::StepModel::build(recording.clone()) {
            Ok(model) => model,
            Err(reason) => panic!("case {case}: {reason}"),
        };
        assert!(model.is_identity_exact(), "case {case}: {recording:?}");
        for (step, path) in model.steps().iter().zip(model.paths()) {
            assert_eq!(path.classes_ns.iter().sum::<i64>(), step.dur_ns, "case {case}");
            let mut at = step.start_ns;
            for piece in &path.pieces {
                assert_eq!(piece.start_ns, at, "case {case}");
                assert!(piece.end_ns > piece.start_ns, "case {case}");
                at = piece.end_ns;
            }
            assert_eq!(path.classes_ns[PathClass::RankSkew as usize], 0);
        }
        check_changes(case, &model);
        check_more_saves_more(case, &model, &mut random);
    }
}

/// Changes never make a window longer, and on nothing they do nothing.
fn check_changes(case: usize, model: &stepscope_replay::StepModel) {
    let recorded = model.recorded_ns();
    let none = Selection::none(model.recording());
    let nothing = [
        Change::Scale { of: none.clone(), numerator: 0, denominator: 1 },
        Change::Remove(none.clone()),
        Change::NoSyncOf(none),
        Change::Fuse(Vec::new()),
    ];
    assert_eq!(model.replay(&nothing).anchored_ns, recorded, "case {case}");
    let all = Selection::of_events(model.recording(), |_| true).or(&Selection::of_spans(model.recording(), |_| true));
    let fused = Change::Fuse(vec![(0..model.recording().events.len() as u32).collect()]);
    let changes = documented_changes(model.recording()).into_iter().map(|(_, change)| change);
    for change in changes.chain([Change::Remove(all), fused]) {
        let steps = model.replay(std::slice::from_ref(&change)).anchored_ns;
        assert!(steps.iter().sum::<i64>() <= recorded.iter().sum(), "case {case}: {}", change.name());
        assert!(steps.iter().all(|step| *step >= 0), "case {case}: {}", change.name());
    }
}

/// The more is scaled, removed or fused, the shorter the window gets; and to remove something saves no less than to make
/// it take no time.
fn check_more_saves_more(case: usize, model: &stepscope_replay::StepModel, random: &mut Random) {
    let recording = model.recording();
    let total = |change: Change| model.replay(&[change]).anchored_ns.iter().sum::<i64>();
    let mut below = |positions: i64| -> Vec<bool> { (0..positions).map(|_| random.below(2) == 0).collect() };
    let positions = (recording.spans.len() + recording.events.len()) as i64;
    let (some, others) = (below(positions), below(positions));
    let selected = |fits: &dyn Fn(usize) -> bool| {
        let events = Selection::of_events(recording, |event| fits(event.position as usize));
        events.or(&Selection::of_spans(recording, |span| fits(span.position as usize)))
    };
    let few = selected(&|place| some[place]);
    let many = selected(&|place| some[place] || others[place]);
    let scale = |numerator| Change::Scale { of: few.clone(), numerator, denominator: 2 };
    let lengths = [
        total(Change::Remove(many)),
        total(Change::Remove(few.clone())),
        total(scale(0)),
        total(scale(1)),
        total(scale(2)),
    ];
    assert!(lengths.is_sorted(), "case {case}: {lengths:?}");
    assert_eq!(lengths[4], model.recorded_ns().iter().sum::<i64>(), "case {case}");
    let all: Vec<u32> = (0..recording.events.len() as u32).collect();
    let is_some = |place: &u32| some[recording.events[*place as usize].position as usize];
    let some: Vec<u32> = all.iter().copied().filter(is_some).collect();
    let alone = all.iter().map(|place| vec![*place]).collect();
    let lengths = [total(Change::Fuse(vec![all])), total(Change::Fuse(vec![some])), total(Change::Fuse(alone))];
    assert!(lengths.is_sorted(), "case {case}: fused {lengths:?}");
    assert_eq!(lengths[2], model.recorded_ns().iter().sum::<i64>(), "case {case}");
}
