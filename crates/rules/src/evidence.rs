//! What every rule says about what it found: title, evidence and figures (metrics, section 22).

use stepscope_model::{Class, Device, Piece, Unit};

use super::thresholds::{facts, replayed, with_class};
use super::*;

/// The title and the evidence with their figures as measured, and the figures by name.
#[track_caller]
fn check(rule: &'static Rule, facts: &Facts, said: &[&str], figures: &[(&str, f64)]) {
    let found = (rule.find)(facts, &Thresholds::default().of(rule)).unwrap();
    let sentences: Vec<String> = std::iter::once(&found.title).chain(&found.evidence).map(in_words).collect();
    assert_eq!(sentences, said, "{}", rule.name);
    assert_eq!(found.figures, figures, "{}", rule.name);
}

fn in_words(sentence: &Sentence) -> String {
    let words = |piece: &Piece| match piece {
        Piece::Words(words) => words.clone(),
        Piece::Figure(figure) => match figure.unit {
            Unit::Ratio => format!("{:.1} %", figure.value * 100.0),
            Unit::Nanoseconds => format!("{} ns", figure.value),
            Unit::Bytes | Unit::MovedBytes => format!("{} B", figure.value),
            Unit::GigabytesPerSecond => format!("{} GB/s", figure.value),
            _ => figure.value.to_string(),
        },
        other => format!("{other:?}"),
    };
    sentence.0.iter().map(words).collect()
}

#[test]
fn loading_is_told_with_its_range_and_its_iterators() {
    let rule = &data_loading::RULE;
    let loading = |range, loaders: &[(&str, i64)]| Facts {
        loading_range_ns: range,
        loaders: loaders.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect(),
        ..with_class(Class::Dataloader, 2_000_000)
    };
    let title = "The step waits for the DataLoader";
    check(
        rule,
        &loading(Some((100_000, 300_000)), &[("_SingleProcessDataLoaderIter", 10)]),
        &[
            title,
            "num_workers=0; loading is 20.0 % of the step time",
            "100000 ns – 300000 ns per step",
            "_SingleProcessDataLoaderIter: 10 calls",
        ],
        &[("share_ratio", 0.2), ("least_ns", 100_000.0), ("most_ns", 300_000.0), ("calls", 10.0)],
    );
    // Every step alike, and of three iterators two.
    check(
        rule,
        &loading(Some((200_000, 200_000)), &[("A", 1), ("B", 2), ("C", 3)]),
        &[title, "loading is 20.0 % of the step time", "A: 1 call", "B: 2 calls"],
        &[("share_ratio", 0.2), ("calls", 1.0), ("calls", 2.0)],
    );
}

#[test]
fn regions_are_told_where_they_take_more_than_the_class() {
    let rule = &data_loading::RULE;
    let regions = |by_class_ns| Facts {
        loading_range_ns: Some((1, 2)),
        loading_regions: [("load_data", 5), ("next_batch", 1), ("z", 9)]
            .map(|(name, calls)| (name.to_owned(), calls))
            .into(),
        region_loading_ns: 2_500_000,
        ..with_class(Class::Dataloader, by_class_ns)
    };
    let (title, share) = ("The step waits for data", "loading is 25.0 % of the step time");
    let (first, second) = ("region `load_data`: 5 calls", "region `next_batch`: 1 call");
    let figures = &[("share_ratio", 0.25), ("calls", 5.0), ("calls", 1.0)];
    // The range is one of the class, not of regions.
    check(rule, &regions(0), &[title, share, first, second], figures);
    let figures = &[("share_ratio", 0.25), ("least_ns", 1.0), ("most_ns", 2.0), ("calls", 5.0), ("calls", 1.0)];
    check(rule, &regions(2_500_000), &[title, share, "1 ns – 2 ns per step", first, second], figures);
}

#[test]
fn communication_is_told_apart_from_waiting_where_that_is_known() {
    let rule = &exposed_communication::RULE;
    let exposed = Facts {
        largest_collective: Some("all_reduce".to_owned()),
        waits: Some(Waits { wait_ns: 1_500_000, exposed_ns: 1_000_000, ..Waits::default() }),
        ..with_class(Class::Communication, 3_000_000)
    };
    let title = "Communication is 30.0 % of the step";
    check(
        rule,
        &exposed,
        &[
            title,
            "300000 ns of exposed communication per step: 100000 ns waiting for other ranks, 200000 ns transfer",
            "all_reduce takes the most of it",
        ],
        &[
            ("share_ratio", 0.3),
            ("exposed_ns", 300_000.0),
            ("exposed_wait_ns", 100_000.0),
            ("other_exposed_ns", 200_000.0),
        ],
    );
    check(
        rule,
        &with_class(Class::Communication, 3_000_000),
        &[
            title,
            "300000 ns of exposed communication per step",
            "how much of it is waiting for other ranks needs the traces of all ranks",
        ],
        &[("share_ratio", 0.3), ("exposed_ns", 300_000.0), ("exposed_wait_ns", 0.0), ("other_exposed_ns", 300_000.0)],
    );
}

#[test]
fn stragglers_are_named_with_what_they_cause() {
    let rule = &straggler::RULE;
    let waits = |stragglers: &[(i64, i64)]| Facts {
        ranks: 4,
        waits: Some(Waits {
            wait_ns: 2_000_000,
            exposed_ns: 1_500_000,
            exposed_caused_ns: 1_200_000,
            waiting_steps: 6,
            stragglers: stragglers.to_vec(),
            ..Waits::default()
        }),
        ..facts()
    };
    let all = "4 ranks wait 200000 ns per step on average, 150000 ns of it exposed";
    let of_all = [("ranks", 4.0), ("wait_ns", 200_000.0), ("exposed_wait_ns", 150_000.0)];
    let with = |more: &[(&'static str, f64)]| [&of_all[..], more].concat();
    check(
        rule,
        &waits(&[(3, 900_000), (1, 600_000)]),
        &["Ranks wait 200000 ns per step for ranks 3 and 1", "ranks 3 and 1 cause 75.0 % of all waiting", all],
        &with(&[("caused_ratio", 0.75), ("rank", 3.0), ("rank", 1.0)]),
    );
    check(
        rule,
        &waits(&[(3, 900_000)]),
        &["Ranks wait 200000 ns per step for rank 3", "rank 3 causes 45.0 % of all waiting", all],
        &with(&[("caused_ratio", 0.45), ("rank", 3.0)]),
    );
    check(
        rule,
        &waits(&[]),
        &["Ranks wait 150000 ns per step for each other", "no rank causes much more of it than the others", all],
        &of_all,
    );
}

#[test]
fn idle_time_is_told_with_the_largest_part_of_it() {
    let rule = &low_utilization::RULE;
    let mut mixed = Facts { kernel_busy_ns: 4_000_000, ..with_class(Class::CpuExec, 3_000_000) };
    mixed.by_class[Class::Runtime as usize] = 1_000_000;
    mixed.by_class[Class::Other as usize] = 1_500_000;
    mixed.by_class[Class::Dataloader as usize] = 500_000;
    let (title, busy) = ("The GPU is idle 60.0 % of the step", "a kernel runs in 40.0 % of the step");
    check(
        rule,
        &mixed,
        &[title, busy, "50.0 % of the idle time is operators on the host: 300000 ns per step"],
        &[("idle_ratio", 0.6), ("utilization_ratio", 0.4), ("largest_idle_ratio", 0.5), ("largest_idle_ns", 300_000.0)],
    );
    for (class, words) in [
        (Class::Runtime, "runtime calls of the host"),
        (Class::CpuExec, "operators on the host"),
        (Class::Dataloader, "data loading"),
        (Class::Other, "host code outside of operators"),
    ] {
        check(
            rule,
            &Facts { kernel_busy_ns: 4_000_000, ..with_class(class, 6_000_000) },
            &[title, busy, &format!("100.0 % of the idle time is {words}: 600000 ns per step")],
            &[
                ("idle_ratio", 0.6),
                ("utilization_ratio", 0.4),
                ("largest_idle_ratio", 1.0),
                ("largest_idle_ns", 600_000.0),
            ],
        );
    }
    // Copies alone keep a device busy without a kernel.
    check(
        rule,
        &Facts { kernel_busy_ns: 4_000_000, ..with_class(Class::Memcpy, 6_000_000) },
        &["The GPU is idle 0.0 % of the step", busy],
        &[("idle_ratio", 0.0), ("utilization_ratio", 0.4)],
    );
}

#[test]
fn idle_time_counts_from_the_first_kernel_on() {
    let mut before = Facts { kernel_busy_ns: 2_000_000, ..with_class(Class::Other, 6_000_000) };
    before.before_recording[Class::Other as usize] = 2_000_000;
    check(
        &low_utilization::RULE,
        &before,
        &[
            "The GPU is idle 50.0 % of the time from the first kernel on",
            "a kernel runs in 25.0 % of the time from the first kernel on",
            "100.0 % of the idle time is host code outside of operators: 400000 ns per step",
        ],
        &[
            ("idle_ratio", 0.5),
            ("utilization_ratio", 0.25),
            ("largest_idle_ratio", 1.0),
            ("largest_idle_ns", 400_000.0),
        ],
    );
}

#[test]
fn matrix_units_are_called_as_their_vendor_does() {
    let rule = &tensor_cores_idle::RULE;
    let work = |eligible_name: Option<&str>| Facts {
        operator_device_ns: 1_000_000,
        eligible_ns: 800_000,
        eligible_name: eligible_name.map(str::to_owned),
        tensor_core_ns: 100_000,
        ..facts()
    };
    let shares = "80.0 % of device time could use them, at least 10.0 % does";
    let figures = &[("unused_ratio", 0.875), ("eligible_ratio", 0.8), ("on_cores_ratio", 0.1)];
    let nvidia = "Up to 87.5 % of eligible work runs without tensor cores";
    check(rule, &work(Some("aten::mm")), &[nvidia, shares, "aten::mm and similar kernels, on NVIDIA A100"], figures);
    let on = |name: Option<&str>, calls| {
        let device = Device { name: name.map(str::to_owned), compute_major: Some(9), ..Device::default() };
        Facts { hardware: Hardware::of(&[&device], calls), ..work(None) }
    };
    check(
        rule,
        &on(Some("AMD Instinct MI300X"), None),
        &[
            "Up to 87.5 % of eligible work runs without matrix cores",
            shares,
            "matrix products and similar kernels, on AMD Instinct MI300X",
        ],
        figures,
    );
    let nameless = on(None, Some(Vendor::Nvidia));
    check(rule, &nameless, &[nvidia, shares, "matrix products and similar kernels, on the device"], figures);
}

#[test]
fn small_kernels_are_told_with_their_launches() {
    let rule = &many_small_kernels::RULE;
    let launches = |most_called: Option<(String, i64)>| Facts {
        launches: 2_000,
        shorter_than_call: 1_500,
        exposed_launch_ns: 500_000,
        median_call_ns: 6_000,
        most_called,
        ..facts()
    };
    let said = [
        "75.0 % of launches start work shorter than the call",
        "1500 of 2000 launches",
        "launch calls take 50000 ns per step with the device idle, median call 6000 ns",
        "aten::add is called 1200 times",
    ];
    let figures = [
        ("shorter_ratio", 0.75),
        ("shorter_than_call", 1_500.0),
        ("launches", 2_000.0),
        ("median_call_ns", 6_000.0),
        ("most_called", 1_200.0),
    ];
    check(rule, &launches(Some(("aten::add".to_owned(), 1_200))), &said, &figures);
    check(rule, &launches(None), &said[..3], &figures[..4]);
}

#[test]
fn kernels_to_fuse_are_told_with_their_number() {
    let step = |_| WindowStep {
        kernel_ns: 400_000,
        fusible: 25,
        fusible_ns: 100_000,
        fusible_path_ns: 60_000,
        ..WindowStep::default()
    };
    check(
        &missed_fusion::RULE,
        &replayed(10, step),
        &[
            "Kernels that could be fused take 25.0 % of kernel time",
            "25 kernels per step, 4000 ns each on average",
            "60000 ns per step are on the critical path",
        ],
        &[("share_ratio", 0.25), ("kernels_per_step", 25.0), ("mean_ns", 4_000.0)],
    );
}

#[test]
fn what_is_on_the_critical_path_is_called_so() {
    let window = |step| replayed(10, move |_| Clone::clone(&step)).window;
    let loader = window(WindowStep { loader_ns: 300_000, ..WindowStep::default() });
    check(
        &data_loading::RULE,
        &Facts { window: loader, ..with_class(Class::Dataloader, 2_000_000) },
        &["The step waits for data", "loading is 30.0 % of the critical path"],
        &[("share_ratio", 0.3)],
    );
    let communication = window(WindowStep { communication_ns: 150_000, ..WindowStep::default() });
    check(
        &exposed_communication::RULE,
        &Facts { window: communication, ..with_class(Class::Communication, 3_000_000) },
        &[
            "Communication is 15.0 % of the critical path",
            "300000 ns of exposed communication per step",
            "how much of it is waiting for other ranks needs the traces of all ranks",
        ],
        &[("share_ratio", 0.15), ("exposed_ns", 300_000.0), ("exposed_wait_ns", 0.0), ("other_exposed_ns", 300_000.0)],
    );
    check(
        &frequent_synchronization::RULE,
        &Facts {
            window: window(WindowStep { waits: 7, ..WindowStep::default() }),
            synchronization_ns: 900_000,
            ..facts()
        },
        &["The host waits for the device 7 times per step", "calls that synchronize take 9.0 % of the step time"],
        &[("waits_per_step", 7.0), ("share_ratio", 0.09)],
    );
}

#[test]
fn synchronizations_are_told_per_step() {
    check(
        &frequent_synchronization::RULE,
        &Facts { synchronizations: 75, synchronization_ns: 900_000, ..facts() },
        &["The host waits for the device 7.5 times per step", "calls that synchronize take 9.0 % of the step time"],
        &[("waits_per_step", 7.5), ("share_ratio", 0.09)],
    );
}

#[test]
fn copies_are_told_with_their_speed_and_what_hides_them() {
    let rule = &pageable_copies::RULE;
    let copies = |count, hidden_ns| Facts {
        pageable: Copies { count, size_bytes: 3_000_000, sum_ns: 1_500_000, time_ns: 1_000_000, hidden_ns },
        ..facts()
    };
    let figures = |copies, hidden_ratio| {
        [("copies", copies), ("moved_bytes", 3_000_000.0), ("gb_per_s", 2.0), ("hidden_ratio", hidden_ratio)]
    };
    check(
        rule,
        &copies(10, 250_000),
        &["Pageable copies are exposed for 75000 ns per step", "10 copies, 3000000 B at 2 GB/s, 25.0 % hidden"],
        &figures(10.0, 0.25),
    );
    check(
        rule,
        &copies(1, 0),
        &["Pageable copies are exposed for 100000 ns per step", "1 copy, 3000000 B at 2 GB/s, none hidden"],
        &figures(1.0, 0.0),
    );
}

#[test]
fn devices_of_one_process_are_counted() {
    check(
        &data_parallel::RULE,
        &Facts { devices_of_a_rank: 4, data_parallel_ns: 3_000_000, ..facts() },
        &["DataParallel feeds 4 GPUs from one process", "DataParallel.forward takes 300000 ns of host time per step"],
        &[("devices", 4.0)],
    );
}

#[test]
fn backends_on_the_host_are_named() {
    check(
        &non_nccl::RULE,
        &Facts {
            host_backends: ["mpi", "gloo"].map(str::to_owned).into(),
            host_communication_ns: 1_000_000,
            frameworks: [Framework::Ddp].into(),
            ..facts()
        },
        &["GPUs communicate through the host with gloo and mpi", "these collectives take 100000 ns per step"],
        &[],
    );
}

#[test]
fn memory_is_told_with_what_the_device_has() {
    check(
        &memory_pressure::RULE,
        &Facts { memory: Some((950, 1_000)), ..facts() },
        &["GPU memory is 95.0 % full at the peak", "950 B of 1000 B in use at the peak"],
        &[("full_ratio", 0.95), ("peak_bytes", 950.0), ("capacity_bytes", 1_000.0)],
    );
}
