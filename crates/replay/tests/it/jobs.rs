//! Several ranks whose answers are worked out by hand, in microseconds.

use stepscope_ingest::{Extras, Options};
use stepscope_replay::read::{ReadError, Settings};
use stepscope_replay::recording::Recording;
use stepscope_replay::{Bound, Change, EdgeKind, JobModel, PathClass, Selection, StepModel, reason};
use stepscope_testkit::TraceBuilder;

use crate::by_hand::ByHand;
use crate::stores::ManyRanks;

const COLLECTIVE: &str = "ncclDevKernel_AllReduce";

/// Compares the steps of a job after changes, replayed from recorded lags.
#[track_caller]
fn check(model: &JobModel, changes: impl Fn(&Recording) -> Vec<Change>, want_ns: &[i64]) {
    assert!(model.is_identity_exact());
    assert_eq!(model.replay(changes).anchored_ns, want_ns);
}

fn communication(recording: &Recording) -> Selection {
    Selection::of_events(recording, |event| event.is_communication)
}

fn half(of: Selection) -> Vec<Change> {
    vec![Change::Scale { of, numerator: 1, denominator: 2 }]
}

/// Rank 1 arrives last, as its host takes longer. The launch takes 10, and the transfer the 20 that it takes there:
///
/// - rank 0: mark 0–30, op 5–25 with a call 10–14, collective 20–100;
/// - rank 1: mark 0–80, op 5–75 with a call 70–74, collective 80–100.
///
/// The join is at 100, 20 after the last arrival.
fn two_ranks(ahead_us: i64) -> Vec<Recording> {
    let first = ByHand::of_rank(0, 0).step(0, 30).op("A", 5, 20).launch((10, 4), COLLECTIVE, 20, (20, 80));
    let second = ByHand::of_rank(1, ahead_us).step(0, 80).op("A", 5, 70).launch((70, 4), COLLECTIVE, 20, (80, 20));
    vec![second.recording(), first.recording()]
}

#[test]
fn the_path_goes_through_the_rank_that_arrives_last() {
    for ahead_us in [0, 7, -3] {
        let model = JobModel::build(two_ranks(ahead_us)).unwrap();
        assert!(model.is_identity_exact());
        assert_eq!(model.clock_offsets_ns(), [Some(0), Some(ahead_us * 1000)]);
        assert_eq!((model.collective_count(), model.join_count()), (1, 1));
        assert_eq!((model.edge_count(EdgeKind::Arrive), model.edge_count(EdgeKind::Join)), (2, 2));
        assert_eq!(model.edge_count(EdgeKind::Dur), 0);
        let path = model.paths().remove(0);
        let pieces: Vec<_> = path
            .pieces
            .iter()
            .map(|of| (of.rank, of.is_transfer, of.piece.start_ns / 1000, of.piece.end_ns / 1000, of.piece.class))
            .collect();
        let want = [
            (1, false, 0, 5, PathClass::Other),
            (1, false, 5, 70, PathClass::CpuExec),
            (1, false, 70, 80, PathClass::LaunchDelay),
            (0, true, 80, 100, PathClass::Communication),
        ];
        assert_eq!(pieces, want);
        assert_eq!((path.on_rank_ns, path.transfer_ns), (vec![0, 80_000], 20_000));
    }
}

#[test]
fn a_change_is_made_on_every_rank_and_ranks_wait_for_each_other_again() {
    let model = JobModel::build(two_ranks(0)).unwrap();
    // No transfer: all end when rank 1 arrives, at 80.
    check(&model, |_| vec![Change::NoCommunication], &[80_000]);
    check(&model, |recording| half(communication(recording)), &[90_000]);
    // The call of rank 1 comes at 35, and the kernel at 45.
    check(&model, |_| vec![Change::HostHalf], &[65_000]);
    // Half of the op of rank 1, from 5 to 70, before its call: the kernel starts at 47.5. That of rank 0 saves nothing.
    let half_op_of = |rank: u32| {
        move |recording: &Recording| {
            let is_op = |name| recording.names.text(name) == "A" && recording.rank == rank;
            half(Selection::of_spans(recording, |span| is_op(span.name)))
        }
    };
    check(&model, half_op_of(1), &[67_500]);
    check(&model, half_op_of(0), &[100_000]);
}

#[test]
fn a_rank_that_does_not_take_part_is_not_waited_for() {
    let model = JobModel::build(two_ranks(0)).unwrap();
    let without = |ranks: &'static [u32]| {
        move |recording: &Recording| {
            let of = communication(recording);
            if ranks.contains(&recording.rank) { vec![Change::Remove(of)] } else { Vec::new() }
        }
    };
    // Nothing but the marks is left, that of rank 1 without its call.
    check(&model, without(&[0, 1]), &[76_000]);
    // Rank 0 ends 20 after its own arrival, at 40.
    check(&model, without(&[1]), &[76_000]);
    check(&model, without(&[0]), &[100_000]);
}

#[test]
fn equal_ranks_are_like_the_median_one_and_wait_for_nobody() {
    let model = JobModel::build(two_ranks(0)).unwrap();
    let equal = model.equal_ranks().unwrap();
    // Rank 0 waits 60 of its 100; of two ranks the lower one is the median. It transfers from 20 to 40.
    assert_eq!((equal.median, equal.local_ns, equal.step_ns), (0, vec![40_000, 100_000], vec![40_000]));
    check(&model, |_| vec![Change::EqualRanks], &[40_000]);
    assert!(Change::EqualRanks.bound() == Bound::Estimate && Change::EqualRanks.name() == "equal_ranks");
    // One step: the strict replay knows the same lags, so the range is one value.
    let saving = model.saving(|_| vec![Change::EqualRanks]);
    assert_eq!([saving.low_ns, saving.saving_ns, saving.high_ns].map(|ns| ns as i64), [60_000; 3]);
    // Other changes are made on what is left: three quarters of the transfer, or none of it and the mark until 30.
    let shorter = |recording: &Recording| {
        let of = communication(recording);
        vec![Change::EqualRanks, Change::Scale { of, numerator: 3, denominator: 4 }]
    };
    check(&model, shorter, &[35_000]);
    check(&model, |_| vec![Change::NoCommunication, Change::EqualRanks], &[30_000]);
    // One rank alone has nobody to be equal to.
    let alone = StepModel::build(two_ranks(0).remove(0)).unwrap();
    assert_eq!(alone.change_null(&Change::EqualRanks), Some(reason::ONE_RANK));
    assert_eq!(alone.replay(&[Change::EqualRanks]).anchored_ns, alone.recorded_ns());
}

#[test]
fn what_is_left_where_a_rank_begins_is_skew() {
    // Rank 1 begins 30 later and ends last, at 120; both end their collective at 65.
    let first = ByHand::of_rank(0, 0).step(0, 100).launch((10, 2), COLLECTIVE, 20, (20, 45));
    let second = ByHand::of_rank(1, 0).step(30, 90).launch((40, 2), COLLECTIVE, 20, (50, 15));
    let model = JobModel::build(vec![first.recording(), second.recording()]).unwrap();
    let path = model.paths().remove(0);
    assert_eq!(path.classes_ns[PathClass::RankSkew as usize], 30_000);
    assert_eq!(path.classes_ns[PathClass::Unexplained as usize], 0);
    assert_eq!((path.on_rank_ns, model.recorded_ns()), (vec![0, 120_000], vec![120_000]));
    assert_eq!(model.savings_null(), None);
}

#[test]
fn a_step_that_ends_before_device_work_of_an_earlier_one_is_filled_too() {
    // Step 1 of rank 1 launches nothing and ends at 40, while the kernel of step 0 runs until 90: it takes no time there.
    let rank = |rank: u32, kernel_us: (i64, i64)| {
        let by_hand = ByHand::of_rank(rank, 0).step(0, 30).launch((2, 2), COLLECTIVE, 20, (5, 10));
        by_hand.launch((10, 2), "k", 7, kernel_us).step(30, 10).recording()
    };
    let model = JobModel::build(vec![rank(0, (20, 20)), rank(1, (20, 70))]).unwrap();
    assert!(model.is_identity_exact());
    let steps: Vec<_> = model.steps().iter().map(|step| (step.start_ns / 1000, step.end_ns / 1000)).collect();
    assert_eq!(steps, [(0, 90), (40, 90)]);
    let paths = model.paths();
    // All of it is the kernel of rank 1.
    assert_eq!(paths[1].classes_ns[PathClass::Kernel as usize], 50_000);
    assert_eq!(paths[1].on_rank_ns, [0, 50_000]);
}

/// A rank with three collectives that end at 30, 60 and 90, each 10 long or as given.
fn three_collectives(rank: u32, last_us: (i64, i64)) -> Recording {
    let launch = |by_hand: ByHand, start: i64| by_hand.launch((start - 5, 2), COLLECTIVE, 20, (start, 10));
    let by_hand = launch(launch(ByHand::of_rank(rank, 0).step(0, 200), 20), 50);
    by_hand.launch((75, 2), COLLECTIVE, 20, last_us).recording()
}

#[test]
fn a_collective_that_had_ended_before_a_rank_arrived_is_not_joined() {
    let recordings = vec![three_collectives(0, (80, 10)), three_collectives(1, (95, 10))];
    let model = JobModel::build(recordings).unwrap();
    assert_eq!((model.collective_count(), model.join_count()), (3, 2));
    assert!(model.is_identity_exact());
}

#[test]
fn ranks_that_do_not_the_same_are_not_matched() {
    let build = |change: &dyn Fn(&mut Recording)| {
        let mut second = three_collectives(1, (80, 10));
        change(&mut second);
        JobModel::build(vec![three_collectives(0, (80, 10)), second])
    };
    let other = |recording: &mut Recording| recording.collectives[1].name = recording.names.intern("broadcast");
    assert_eq!(build(&other).unwrap_err(), reason::NAMES_DIFFER);
    let fewer = |recording: &mut Recording| {
        recording.collectives.pop();
        recording.groups[0].launched -= 1;
    };
    assert_eq!(build(&fewer).unwrap_err(), reason::COUNTS_DIFFER);
    let elsewhere = |recording: &mut Recording| recording.groups[0].group_id = 21;
    assert_eq!(build(&elsewhere).unwrap_err(), reason::NO_COMMUNICATION);
    let later = |recording: &mut Recording| recording.steps[0].name = "ProfilerStep#1".into();
    assert_eq!(build(&later).unwrap_err(), reason::STEPS_DIFFER);
    let cut = |recording: &mut Recording| recording.window = stepscope_replay::Window::default();
    assert_eq!(build(&cut).unwrap_err(), reason::NO_COMPLETE_STEP);
    assert_eq!(JobModel::build(vec![three_collectives(0, (80, 10))]).unwrap_err(), reason::ONE_RANK);
    assert_eq!(JobModel::build(Vec::new()).unwrap_err(), reason::ONE_RANK);
    assert_eq!(build(&|_| {}).unwrap().join_count(), 3);
}

#[test]
fn a_group_that_does_not_match_leaves_the_others_and_no_equal_ranks() {
    // Both have a collective in group 20; in group 21 rank 1 has one less.
    let rank = |rank: u32, more: bool| {
        let by_hand = ByHand::of_rank(rank, 0).step(0, 100).launch((10, 2), COLLECTIVE, 20, (20, 10));
        let by_hand = by_hand.launch((40, 2), COLLECTIVE, 21, (50, 10));
        if more { by_hand.launch((70, 2), COLLECTIVE, 21, (80, 10)) } else { by_hand }.recording()
    };
    let model = JobModel::build(vec![rank(0, true), rank(1, false)]).unwrap();
    assert_eq!(model.unmatched(), [(21, reason::COUNTS_DIFFER)]);
    assert_eq!((model.collective_count(), model.join_count()), (1, 1));
    assert_eq!(model.equal_ranks().unwrap_err(), reason::COUNTS_DIFFER);
    assert_eq!(model.change_null(&Change::EqualRanks), Some(reason::COUNTS_DIFFER));
    assert_eq!(model.change_null(&Change::NoCommunication), None);
}

#[test]
fn sequence_numbers_match_before_positions() {
    let numbered = |rank: u32, numbers: [i64; 3]| {
        let mut recording = three_collectives(rank, (80, 10));
        for (collective, number) in recording.collectives.iter_mut().zip(numbers) {
            collective.sequence = Some(number);
        }
        recording
    };
    let build = |first, second| JobModel::build(vec![numbered(0, first), numbered(1, second)]);
    // Two share a number, and are told apart by their order.
    assert_eq!(build([7, 7, 8], [7, 7, 8]).unwrap().join_count(), 3);
    assert_eq!(build([7, 8, 9], [8, 9, 10]).unwrap_err(), reason::SEQUENCES_DIFFER);
    // The second of one is the first of the other: 60 ends with 30, so nothing meets but the last.
    let crossed = build([1, 2, 3], [2, 1, 3]).unwrap();
    assert_eq!((crossed.collective_count(), crossed.join_count()), (3, 1));
    // One without a number: by position.
    let mut second = numbered(1, [8, 9, 10]);
    second.collectives[0].sequence = None;
    assert_eq!(JobModel::build(vec![numbered(0, [7, 8, 9]), second]).unwrap().join_count(), 3);
}

#[test]
fn clocks_are_compared_along_chains_of_groups() {
    // Ranks 0 and 1 share group 20, ranks 1 and 2 group 21, and rank 3 shares none with them.
    let rank = |rank: u32, ahead_us: i64, groups: &[i64]| {
        let launch = |by_hand: ByHand, group: &i64| {
            let start = *group * 3;
            by_hand.launch((start - 10, 2), COLLECTIVE, *group, (start, 10))
        };
        groups.iter().fold(ByHand::of_rank(rank, ahead_us).step(0, 200), launch).recording()
    };
    let recordings = vec![rank(0, 0, &[20]), rank(1, 4, &[20, 21]), rank(2, 9, &[21]), rank(3, 100, &[22])];
    let model = JobModel::build(recordings).unwrap();
    assert_eq!(model.clock_offsets_ns(), [Some(0), Some(4_000), Some(9_000), None]);
    assert_eq!(model.join_count(), 2);
    // The clock of rank 3 is left as it is.
    let starts: Vec<i64> = model.recordings().map(|recording| recording.steps[0].start_ns / 1000).collect();
    assert_eq!(starts, [0, 0, 0, 100]);
}

/// Steps of 100 µs of a rank in a job of two, each with a collective that begins at `arrives` and ends at 60.
fn trace(rank: u32, count: i64, arrives: i64) -> TraceBuilder {
    let header = format!(r#"{{"backend": "nccl", "rank": {rank}, "world_size": 2}}"#);
    let trace = TraceBuilder::new().header("distributedInfo", &header);
    (0..count).fold(trace, |trace, step| {
        let at = |offset: i64| (step * 100 + offset).to_string();
        trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &at(0), "100")
            .op("nccl:all_reduce", 1, &at(5), "20")
            .runtime("cudaLaunchKernel", 1, &at(10), "5", step + 1)
            .kernel(COLLECTIVE, 0, 20, &at(arrives), &(60 - arrives).to_string(), step + 1)
            .arg("Collective name", r#""allreduce""#)
            .arg("Process Group Name", r#""0""#)
    })
}

#[test]
fn collectives_are_read_from_a_store() {
    let job = ManyRanks::of_texts(&[trace(0, 4, 20).finish(), trace(1, 4, 40).finish()]);
    let taken = job.read(&Settings { steps: 3, ..Settings::default() }).unwrap();
    assert_eq!((taken.recordings.len(), taken.steps_left_out, taken.has_all_events), (2, 0, true));
    for (rank, recording) in taken.recordings.iter().enumerate() {
        assert_eq!((recording.rank as usize, recording.groups.len(), recording.groups[0].launched), (rank, 1, 4));
        let names: Vec<&str> =
            recording.collectives.iter().map(|collective| recording.names.text(collective.name)).collect();
        assert_eq!(names, ["all_reduce"; 4]);
        assert!(recording.collectives.iter().all(|collective| collective.event.is_some()));
    }
    let model = JobModel::build(taken.recordings).unwrap();
    // One of the four is before the window.
    assert_eq!((model.collective_count(), model.join_count()), (4, 3));
    assert!(model.is_identity_exact());
    let equal = model.equal_ranks().unwrap();
    // Rank 0 waits 20 in each of the three; its mark ends at 100 all the same.
    assert_eq!((equal.median, equal.local_ns, equal.step_ns), (0, vec![240_000, 300_000], vec![100_000; 3]));
}

#[test]
fn ranks_share_the_memory_and_take_as_many_steps_as_the_one_with_least_room() {
    let job = ManyRanks::of_texts(&[trace(0, 16, 20).finish(), trace(1, 16, 40).finish()]);
    // A step has three spans; 400 bytes for each of them, half of the limit is for them, and each rank has half.
    let taken = job.read(&Settings { memory_limit_bytes: 2 * 2 * 400 * 15, ..Settings::default() }).unwrap();
    let windows: Vec<_> = taken.recordings.iter().map(|recording| recording.window.steps.clone()).collect();
    assert_eq!((windows, taken.steps_left_out), (vec![12..16, 12..16], 12));
    assert_eq!(JobModel::build(taken.recordings).unwrap().join_count(), 4);
    let error = job.read(&Settings { memory_limit_bytes: 400, ..Settings::default() }).unwrap_err();
    assert!(matches!(error, ReadError::Null(reason::MEMORY_LIMIT)), "{error}");
}

#[test]
fn a_store_without_sums_has_no_collectives() {
    let folder = tempfile::tempdir().unwrap();
    let path = |rank: u32| {
        let path = folder.path().join(format!("rank{rank}.json"));
        std::fs::write(&path, trace(rank, 4, 20).finish()).unwrap();
        path
    };
    let options = Options { extras: Extras { rollups: false, tiles: false }, ..Options::default() };
    let job = ManyRanks::of_files(&[path(0), path(1)], &options);
    let error = job.read(&Settings::default()).unwrap_err();
    assert!(matches!(error, ReadError::Null(reason::NO_ROLLUPS)), "{error}");
}

#[test]
fn collectives_of_the_window_are_enough_where_memory_holds_no_others() {
    let job = ManyRanks::of_texts(&[trace(0, 16, 20).finish(), trace(1, 16, 40).finish()]);
    // Half of the 3000 bytes of a rank hold three spans, but not its sixteen events of 100 bytes.
    let taken = job.read(&Settings { memory_limit_bytes: 6000, ..Settings::default() }).unwrap();
    assert_eq!((taken.steps_left_out, taken.has_all_events), (15, false));
    for recording in &taken.recordings {
        assert_eq!((recording.collectives.len(), recording.groups[0].launched), (1, 16));
    }
    let model = JobModel::build(taken.recordings).unwrap();
    assert_eq!((model.collective_count(), model.join_count()), (1, 1));
    assert_eq!(model.equal_ranks().unwrap().local_ns, [80_000, 100_000]);
}

#[test]
fn groups_of_all_partitions_are_read() {
    // Behind each collective of the first group one of a second, 70–80.
    let two_groups = |rank: u32, arrives: i64| {
        (0..4).fold(trace(rank, 4, arrives), |trace, step| {
            let at = |offset: i64| (step * 100 + offset).to_string();
            trace
                .runtime("cudaLaunchKernel", 1, &at(30), "5", step + 101)
                .kernel(COLLECTIVE, 0, 21, &at(70), "10", step + 101)
                .arg("Collective name", r#""allgather""#)
                .arg("Process Group Name", r#""1""#)
        })
    };
    let job = ManyRanks::of_texts(&[two_groups(0, 20).finish(), two_groups(1, 40).finish()]);
    assert!(job.sources[0].partitions.values().any(|partitions| partitions.len() == 2));
    let model = job.model();
    assert!(model.recordings().all(|recording| recording.groups.len() == 2));
    assert_eq!((model.collective_count(), model.join_count()), (8, 8));
}

#[test]
fn a_rank_with_less_room_shortens_the_windows_of_those_before_it() {
    // Rank 1 has fifteen more ops per step: two of its steps have room, and eight of rank 0.
    let second = (0..8 * 15)
        .fold(trace(1, 8, 40), |trace, op| trace.op("aten::add", 1, &(op / 15 * 100 + 30 + op % 15).to_string(), "1"));
    let job = ManyRanks::of_texts(&[trace(0, 8, 20).finish(), second.finish()]);
    let taken = job.read(&Settings { memory_limit_bytes: 2 * 2 * 400 * 40, ..Settings::default() }).unwrap();
    let windows: Vec<_> = taken.recordings.iter().map(|recording| recording.window.steps.clone()).collect();
    assert_eq!((windows, taken.steps_left_out), (vec![6..8, 6..8], 6));
}
