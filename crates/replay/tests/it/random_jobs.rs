//! What must hold for any job: classes and ranks add up to the step, a replay without a change changes nothing, and
//! ranks that do the same answer as one of them does.

use stepscope_replay::document::documented_changes;
use stepscope_replay::recording::Recording;
use stepscope_replay::{Change, JobModel, Selection, StepModel, reason};
use stepscope_testkit::Random;

use crate::by_hand::ByHand;
use crate::random::{Making, NAMES};

const COLLECTIVE: &str = "ncclDevKernel_AllReduce";
/// The group of all ranks, and one of the first two.
const GROUPS: [i64; 2] = [20, 21];
/// Without kernels that communicate on their own.
const LOCAL_NAMES: [&str; 3] = ["gemm", "Memcpy HtoD (Pageable -> Device)", "k"];

/// A rank, and when its two streams of communication are free.
struct Member {
    making: Making,
    free: [i64; 2],
}

/// Ranks that do random work between collectives, which end together but for a little, by clocks that differ.
fn job(random: &mut Random) -> Vec<Recording> {
    let mut ranks: Vec<Member> = (0..2 + random.below(3) as u32)
        .map(|rank| {
            let ahead_us = random.below(50) as i64 * i64::from(rank);
            let making = Making::new(ByHand::of_rank(rank, ahead_us), random);
            Member { making, free: [0; 2] }
        })
        .collect();
    for _ in 0..=random.below(3) {
        let starts: Vec<i64> = ranks.iter().map(|rank| rank.making.now).collect();
        for _ in 0..random.below(4) {
            ranks = ranks
                .into_iter()
                .map(|rank| Member { making: rank.making.work(random, &LOCAL_NAMES), ..rank })
                .collect();
            let group = random.below(2);
            let count = if group == 0 { ranks.len() } else { 2 };
            meet(random, group, &mut ranks[..count]);
        }
        for (rank, start) in ranks.iter_mut().zip(starts) {
            rank.making.now += 1;
            rank.making.by_hand = rank.making.by_hand.clone().step(start, rank.making.now - start);
        }
    }
    ranks.into_iter().map(|rank| rank.making.by_hand.recording()).collect()
}

/// A collective: each rank arrives when it can, and all go on when the last is there.
fn meet(random: &mut Random, group: usize, ranks: &mut [Member]) {
    let begins: Vec<i64> =
        ranks.iter().map(|rank| (rank.making.now + 1 + random.below(6) as i64).max(rank.free[group])).collect();
    let transfer = random.below(8) as i64;
    let end = begins.iter().max().unwrap() + transfer;
    for (rank, begin) in ranks.iter_mut().zip(begins) {
        let now = rank.making.now;
        let end = end + i64::from(random.below(4) == 0);
        rank.free[group] = end;
        let by_hand = rank.making.by_hand.clone().op("nccl:all_reduce", now, 3);
        let by_hand = by_hand.launch((now, 2), COLLECTIVE, GROUPS[group], (begin, end - begin));
        (rank.making.by_hand, rank.making.now) = match random.below(3) {
            // The host waits for it, or another stream, or nobody.
            0 => (by_hand.call("cudaStreamSynchronize", now + 4, (end + 2 - now - 4).max(1)), (end + 3).max(now + 6)),
            1 => (by_hand.call("cudaStreamWaitEvent", now + 4, 1), now + 6),
            _ => (by_hand, now + 4),
        };
    }
}

#[test]
fn classes_and_ranks_add_up_and_nothing_moves_without_a_change() {
    let mut random = Random::new(23);
    let mut joins = 0;
    for case in 0..3_000 {
        let recordings = job(&mut random);
        let model = match JobModel::build(recordings.clone()) {
            Ok(model) => model,
            Err(reason) => {
                assert!(reason == reason::NO_COMMUNICATION, "case {case}: {reason}");
                continue;
            }
        };
        joins += model.join_count();
        assert!(model.unmatched().is_empty(), "case {case}");
        assert!(model.is_identity_exact(), "case {case}: {recordings:?}");
        check_paths(case, &model);
        check_equal_ranks(case, &model);
        check_changes(case, &model);
    }
    assert!(joins > 5_000, "{joins}");
}

fn check_paths(case: usize, model: &JobModel) {
    for (step, path) in model.steps().iter().zip(model.paths()) {
        assert_eq!(path.classes_ns.iter().sum::<i64>(), step.dur_ns(), "case {case}");
        assert_eq!(path.on_rank_ns.iter().sum::<i64>() + path.transfer_ns, step.dur_ns(), "case {case}");
        let mut at = step.start_ns;
        for of in &path.pieces {
            assert_eq!(of.piece.start_ns, at, "case {case}");
            assert!(of.piece.end_ns > of.piece.start_ns, "case {case}");
            at = of.piece.end_ns;
        }
        assert_eq!(at, step.end_ns, "case {case}");
    }
}

/// The median rank alone, with each of its collectives made as short as the shortest, one by one.
fn check_equal_ranks(case: usize, model: &JobModel) {
    let equal = model.equal_ranks().unwrap();
    let below = equal.local_ns.iter().filter(|local| **local < equal.local_ns[equal.median]).count();
    assert!(below < equal.local_ns.len().div_ceil(2), "case {case}");
    let median = model.recordings().nth(equal.median).unwrap();
    let mut shortened = Vec::new();
    for own in &median.collectives {
        let group_id = median.groups[own.group as usize].group_id;
        let others = model.recordings().flat_map(|recording| {
            let is_same = move |other: &&stepscope_replay::recording::Collective| {
                recording.groups[other.group as usize].group_id == group_id && other.ordinal == own.ordinal
            };
            recording.collectives.iter().filter(is_same)
        });
        let transfer_ns = others.map(|other| other.dur_ns).min().unwrap();
        let event = &median.events[own.event.unwrap() as usize];
        if event.dur_ns > 0 {
            let of = Selection::of_events(median, |other| other.position == event.position);
            shortened.push(Change::Scale { of, numerator: transfer_ns as u32, denominator: event.dur_ns as u32 });
        }
    }
    let alone = StepModel::build(median.clone()).unwrap().replay(&shortened);
    assert_eq!(equal.step_ns, alone.anchored_ns, "case {case}");
    assert_eq!(model.replay(|_| vec![Change::EqualRanks]), alone, "case {case}");
}

/// Changes of nothing do nothing; of one step none makes it longer, as nothing gets later.
fn check_changes(case: usize, model: &JobModel) {
    let recorded = model.recorded_advances_ns();
    let nothing = model.replay(|recording| {
        let none = Selection::none(recording);
        vec![Change::Remove(none.clone()), Change::NoSyncOf(none), Change::Fuse(Vec::new())]
    });
    assert_eq!(nothing.anchored_ns, recorded, "case {case}");
    assert_eq!(nothing.strict_ns, model.strict_advances_ns(), "case {case}");
    let count = documented_changes(model.recordings().next().unwrap()).len();
    for number in 0..count {
        let steps = model.replay(|recording| vec![documented_changes(recording).swap_remove(number).1]).anchored_ns;
        assert!(steps.iter().all(|step| *step >= 0), "case {case}: {number}");
        assert!(steps.len() > 1 || steps <= recorded, "case {case}: {number}");
    }
}

/// Any recording beside copies of itself: each collective is joined, and no rank waits for another.
#[test]
fn ranks_that_do_the_same_answer_as_one_of_them() {
    let mut random = Random::new(29);
    for case in 0..1_000 {
        let mut making = Making::new(ByHand::new(), &mut random);
        for _ in 0..=random.below(3) {
            let start = making.now;
            making = making.work(&mut random, &NAMES).step(start);
        }
        let recording = making.by_hand.recording();
        let copies = (0..3).map(|rank| Recording { rank, ..recording.clone() }).collect();
        let Ok(job) = JobModel::build(copies) else {
            assert!(recording.collectives.is_empty(), "case {case}");
            continue;
        };
        let one = StepModel::build(recording).unwrap();
        assert_eq!(job.join_count(), job.collective_count(), "case {case}");
        assert_eq!((job.recorded_ns(), job.strict_ns()), (one.recorded_ns(), one.strict_ns()), "case {case}");
        for (step, (own, path)) in job.steps().iter().zip(one.paths().iter().zip(job.paths())) {
            // What is before the first point is skew between ranks, not unexplained.
            assert_eq!(path.classes_ns[..13], own.classes_ns[..13], "case {case} {}", step.name);
        }
        let changes = documented_changes(one.recording());
        let all = |recording: &Recording| {
            let events = Selection::of_events(recording, |_| true);
            vec![Change::Remove(events.or(&Selection::of_spans(recording, |_| true)))]
        };
        assert_eq!(job.replay(all), one.replay(&all(one.recording())), "case {case}");
        let communication = |recording: &Recording| {
            let of = Selection::of_events(recording, |event| event.is_communication);
            vec![Change::Scale { of, numerator: 2, denominator: 3 }]
        };
        assert_eq!(job.replay(communication), one.replay(&communication(one.recording())), "case {case}");
        let removed = |recording: &Recording| {
            vec![Change::Remove(Selection::of_events(recording, |event| event.is_communication))]
        };
        assert_eq!(job.replay(removed), one.replay(&removed(one.recording())), "case {case}");
        for (name, change) in changes {
            let got = job.replay(|_| vec![change.clone()]);
            assert_eq!(got, one.replay(std::slice::from_ref(&change)), "case {case} {name}");
        }
        let equal = job.equal_ranks().unwrap();
        assert_eq!((equal.median, equal.step_ns), (1, one.recorded_ns()), "case {case}");
    }
}
