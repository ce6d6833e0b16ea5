//! Jobs with faults: each fault costs what it must, nothing happens before its cause, and noise stays in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use stepscope_simulate::faults::{
    EXCLUSIVE, Fault, FaultyJob, Label, RankRecording, Stream, Thread, Truth, Work, population,
};

/// Jobs of all kinds, a few of each: every fault alone, pairs, and healthy ones.
fn some_jobs() -> Vec<FaultyJob> {
    population(500).into_iter().step_by(9).collect()
}

#[test]
fn every_fault_costs_time_but_those_of_memory() {
    for fault in Fault::ALL {
        for seed in 1..=3 {
            let truth = Truth::of(&FaultyJob::new(seed, &[fault]));
            let share = truth.savings[0].saving_ns as f64 / truth.step_ns();
            if fault.costs_time() {
                assert!((0.02..0.8).contains(&share), "{fault:?} {seed}: {share}");
            } else {
                assert!(share.abs() < 0.002, "{fault:?} {seed}: {share}");
            }
            assert_eq!(truth.of_all.saving_ns, truth.savings[0].saving_ns);
        }
    }
}

#[test]
fn removing_one_fault_of_a_pair_never_saves_more_than_removing_both() {
    for job in population(300).into_iter().filter(|job| job.faults().len() == 2).step_by(13) {
        let truth = Truth::of(&job);
        for saving in &truth.savings {
            let slack_ns = (truth.step_ns() * 0.01) as i64;
            assert!(saving.saving_ns <= truth.of_all.saving_ns + slack_ns, "{}: {truth:?}", job.name());
        }
    }
}

#[test]
fn healthy_jobs_have_none_of_the_signs() {
    let mut sizes = BTreeSet::new();
    for seed in 1..=20 {
        let ranks = FaultyJob::new(seed, &[]).play();
        sizes.insert(ranks.len());
        ranks.iter().for_each(has_no_sign);
    }
    assert!(sizes.len() > 2, "of all sizes: {sizes:?}");
}

fn has_no_sign(recording: &RankRecording) {
    let from_ns = recording.recorded_from_ns;
    let spans = || recording.spans.iter().filter(move |span| span.start_ns >= from_ns);
    let device = || recording.device.iter().filter(move |event| event.start_ns >= from_ns);
    let calls = || recording.calls.iter().filter(move |call| call.start_ns >= from_ns);
    let ends_ns = recording.step_ends_ns();
    let total_ns = ends_ns[ends_ns.len() - 1] - from_ns;
    let share = |dur_ns: i64| dur_ns as f64 / total_ns as f64;

    let computing = device().filter(|event| event.stream == Stream::Compute);
    let busy = share(computing.map(|event| event.end_ns - event.start_ns).sum());
    assert!(busy > 0.88, "the device computes, and no collective is in its way: {busy}");
    let loading = spans().filter(|span| is_named(&span.label, "enumerate(DataLoader)"));
    assert!(share(loading.map(|span| span.end_ns - span.start_ns).sum()) < 0.02);
    assert!(!spans().any(|span| is_named(&span.label, "aten::item") || is_named(&span.label, "_compile")));
    let waits = calls().filter(|call| !call.awaited.is_empty()).count();
    assert!(waits <= recording.steps().count() + 2, "{waits} waits");
    assert!(!calls().any(|call| call.name == "cudaMalloc"));
    for event in device() {
        match &event.work {
            Work::Copy { name, .. } => assert_eq!(*name, "Memcpy HtoD (Pinned -> Device)"),
            Work::Kernel(kernel) if kernel.name.contains("gemm") => {
                assert!(kernel.name.contains("bf16"));
                assert!(kernel.grid > 108, "it fills the device");
            }
            Work::Kernel(_) | Work::Collective(_) => {}
        }
    }
    let shorter = device().filter(|event| {
        let call = &recording.calls[event.call];
        event.end_ns - event.start_ns < call.end_ns - call.start_ns
    });
    assert!((shorter.count() as f64) < 0.3 * device().count() as f64);
    assert!(longest_pause_ns(recording) < 1_000_000);

    let at_step_ends = allocated_at_step_ends(recording);
    assert!(at_step_ends.iter().all(|&bytes| bytes == at_step_ends[0]), "{at_step_ends:?}");
    let unused = recording.memory.iter().map(|memory| memory.reserved_bytes - memory.allocated_bytes).max();
    assert!(unused.unwrap() < 1 << 30);
}

#[test]
fn faults_of_memory_show() {
    for seed in 1..=8 {
        let leaking = FaultyJob::new(seed, &[Fault::Leak]).play().remove(0);
        let at_step_ends = allocated_at_step_ends(&leaking);
        assert!(at_step_ends.windows(2).all(|pair| pair[0] < pair[1]), "{at_step_ends:?}");

        let fragmented = FaultyJob::new(seed, &[Fault::Fragmentation]).play().remove(0);
        let recorded = fragmented.memory.iter().filter(|memory| memory.at_ns >= fragmented.recorded_from_ns);
        let peak = recorded.max_by_key(|memory| memory.allocated_bytes).unwrap();
        let unused = peak.reserved_bytes - peak.allocated_bytes;
        assert!(unused > 1 << 30 && unused * 5 > peak.reserved_bytes, "{peak:?}");
    }
}

#[test]
fn nothing_happens_before_its_cause() {
    for job in some_jobs() {
        let ranks = job.play();
        let name = job.name();
        for recording in &ranks {
            let mut stream_ends_ns: BTreeMap<Stream, i64> = BTreeMap::new();
            for event in &recording.device {
                let call = &recording.calls[event.call];
                assert!(event.start_ns > call.start_ns, "{name}: launched before it starts");
                assert!(event.end_ns > event.start_ns, "{name}: everything takes time");
                let before_ns = stream_ends_ns.insert(event.stream, event.end_ns);
                assert!(before_ns.is_none_or(|end_ns| end_ns < event.start_ns), "{name}: one after the other");
                for &awaited in &event.after {
                    assert!(recording.device[awaited].end_ns < event.start_ns, "{name}: waits for events");
                }
            }
            for call in &recording.calls {
                assert!(call.end_ns > call.start_ns);
                for &awaited in &call.awaited {
                    assert!(call.end_ns > recording.device[awaited].end_ns, "{name}: {} waits", call.name);
                    assert!(call.start_ns < recording.device[awaited].end_ns, "{name}: {} waited", call.name);
                }
            }
            for thread in [Thread::Script, Thread::Backward] {
                let calls: Vec<_> = recording.calls.iter().filter(|call| call.thread == thread).collect();
                assert!(calls.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{name}: one call at a time");
            }
            assert!(recording.spans.iter().all(|span| span.end_ns >= span.start_ns));
            assert_eq!(recording.steps().count(), 12);
        }
        collectives_end_together(&name, &ranks);
    }
}

/// By group and ordinal, a collective ends at once on all of its ranks, after the last of them has arrived.
fn collectives_end_together(name: &str, ranks: &[RankRecording]) {
    let mut collectives: BTreeMap<(i64, u64, usize), Vec<(i64, i64)>> = BTreeMap::new();
    for recording in ranks {
        for event in &recording.device {
            if let Work::Collective(collective) = &event.work {
                // Ends tell apart the groups of a square, which have no name in common here.
                let key = (event.end_ns, collective.ordinal, collective.group);
                collectives.entry(key).or_default().push((event.start_ns, event.end_ns));
            }
        }
    }
    let sizes: BTreeSet<usize> = collectives.values().map(Vec::len).collect();
    assert!(sizes.iter().all(|&size| size == ranks.len() || (ranks.len() == 4 && size == 2)), "{name}: {sizes:?}");
    for times in collectives.values() {
        let arrived_ns = times.iter().map(|time| time.0).max().unwrap();
        assert!(times.iter().all(|time| time.1 > arrived_ns), "{name}");
    }
}

/// What the kernels of a job took on the device, without those that only a fault adds.
fn kernel_times(job: &FaultyJob, contains: &str) -> Vec<i64> {
    let recording = job.play().remove(0);
    let of_name = recording.device.iter().filter(|event| match &event.work {
        Work::Kernel(kernel) => kernel.name.contains(contains),
        _ => false,
    });
    of_name.map(|event| event.end_ns - event.start_ns).collect()
}

#[test]
fn removing_a_fault_changes_nothing_else() {
    // None of these touches products, so each of them takes as long as before, to the nanosecond.
    let faults = [
        Fault::SlowInput,
        Fault::TooFewWorkers,
        Fault::ItemInEveryStep,
        Fault::PageableCopies,
        Fault::TinyKernels,
        Fault::Leak,
        Fault::Fragmentation,
        Fault::Recompilation,
        Fault::HostPauses,
    ];
    for fault in faults {
        let job = FaultyJob::new(11, &[fault]);
        let (with, without) = (kernel_times(&job, "gemm"), kernel_times(&job.without(fault), "gemm"));
        assert!(with.len() > 300);
        assert_eq!(with, without, "{fault:?}");
    }
    let jobs = [FaultyJob::new(11, &[Fault::Leak]), FaultyJob::new(11, &[Fault::HostPauses])];
    let [leak, pauses] = jobs.map(|job| kernel_times(&job.without_all(), "gemm"));
    assert_eq!(leak, pauses, "without their faults, jobs of one seed are the same job");
}

#[test]
fn the_documentation_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator.md");
    let text = fs::read_to_string(path).unwrap();
    for fault in Fault::ALL {
        let rules: Vec<String> = fault.rules().iter().map(|rule| format!("`{rule}`")).collect();
        let row = format!("| `{}` | {} |", fault.name(), rules.join(", "));
        assert!(text.contains(&row), "docs/simulator.md: {row}");
    }
    for exclusive in EXCLUSIVE {
        assert!(text.contains(exclusive.reason), "docs/simulator.md: {}", exclusive.reason);
    }
}

fn is_named(label: &Label, start: &str) -> bool {
    match label {
        Label::Annotation(name) => name.starts_with(start),
        Label::Op(op) => op.name.starts_with(start),
        Label::Step(_) | Label::Collective(_) => false,
    }
}

/// The longest time in a step in which the script neither ran an operator, nor called, nor waited for the backward pass.
fn longest_pause_ns(recording: &RankRecording) -> i64 {
    let mut busy: Vec<(i64, i64)> = recording
        .spans
        .iter()
        .filter(|span| !matches!(span.label, Label::Step(_)))
        .map(|span| (span.start_ns, span.end_ns))
        .collect();
    busy.extend(recording.calls.iter().map(|call| (call.start_ns, call.end_ns)));
    busy.retain(|&(start_ns, _)| start_ns >= recording.recorded_from_ns);
    busy.sort_unstable();
    let mut until_ns = busy[0].1;
    let mut longest_ns = 0;
    for (start_ns, end_ns) in busy {
        longest_ns = longest_ns.max(start_ns - until_ns);
        until_ns = until_ns.max(end_ns);
    }
    longest_ns
}

fn allocated_at_step_ends(recording: &RankRecording) -> Vec<i64> {
    let at = |time_ns: i64| {
        let before = recording.memory.iter().rev().find(|memory| memory.at_ns <= time_ns);
        before.map_or(0, |memory| memory.allocated_bytes)
    };
    recording.steps().map(|(_, mark)| at(mark.end_ns)).collect()
}
