//! Every rule at, below and above its thresholds, and where it would be a false alarm.

use stepscope_model::{Class, Device};

use super::*;

/// Ten steps of 1 ms on an A100.
pub(super) fn facts() -> Facts {
    let device = Device { name: Some("NVIDIA A100".to_owned()), compute_major: Some(8), ..Device::default() };
    Facts {
        steps: 10,
        step_ns: 10_000_000,
        device_events: 100,
        kernel_busy_ns: 9_000_000,
        device_busy_ns: 9_000_000,
        hardware: Hardware::of(&[&device], None),
        ranks: 1,
        ..Facts::default()
    }
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Said {
    Nothing,
    /// Something that is not about time.
    Something,
    /// So much time of a step is at stake.
    AtStake(f64),
}

pub(super) const NOTHING: Said = Said::Nothing;
pub(super) const SOMETHING: Said = Said::Something;

/// So much is at stake.
pub(super) fn at(at_stake_ns: f64) -> Said {
    Said::AtStake(at_stake_ns)
}

/// Compares what the rule says about such facts.
#[track_caller]
pub(super) fn check(rule: &'static Rule, facts: &Facts, want: Said) {
    let found = (rule.find)(facts, &Thresholds::default().of(rule));
    let said = match found.as_ref().map(|found| found.at_stake_ns) {
        None => Said::Nothing,
        Some(None) => Said::Something,
        Some(Some(at_stake_ns)) => Said::AtStake(at_stake_ns),
    };
    assert_eq!(said, want, "{}: {found:?}", rule.name);
}

/// A figure of what the rule says.
pub(super) fn figure(rule: &'static Rule, facts: &Facts, name: &str) -> Option<f64> {
    let found = (rule.find)(facts, &Thresholds::default().of(rule))?;
    found.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The facts with replayed steps of 1 ms, each made by `step` from its place.
pub(super) fn replayed(count: usize, step: impl Fn(usize) -> WindowStep) -> Facts {
    let of_a_millisecond = |place| WindowStep { dur_ns: 1_000_000, ..step(place) };
    let window = Window { steps: (0..count).map(of_a_millisecond).collect() };
    Facts { window: Some(window), ..facts() }
}

/// The facts with the time of one class.
pub(super) fn with_class(class: Class, ns: i64) -> Facts {
    let mut facts = facts();
    facts.by_class[class as usize] = ns;
    facts
}

#[test]
fn every_rule_is_silent_about_nothing() {
    for rule in RULES {
        check(rule, &Facts::default(), NOTHING);
        check(rule, &facts(), NOTHING);
    }
}

#[test]
fn data_loading_begins_above_a_share_of_the_path() {
    let rule = &data_loading::RULE;
    let loading = |ns| with_class(Class::Dataloader, ns);
    check(rule, &loading(300_000), NOTHING);
    check(rule, &loading(300_001), at(30_000.1));
    check(rule, &loading(1_500_000), at(150_000.0));
    check(rule, &loading(1_500_001), at(150_000.1));
    // Regions count where there is no loader, and never more than the step.
    check(rule, &Facts { region_loading_ns: 600_000, ..facts() }, at(60_000.0));
    check(rule, &Facts { region_loading_ns: 30_000_000, ..facts() }, at(1_000_000.0));
    // On the critical path it is what is on it, in a twentieth of the steps at least.
    let on_path = |ns: i64, steps: usize| {
        let loader_ns = move |place: usize| if place < steps { ns / steps as i64 } else { 0 };
        let window = replayed(40, |place| WindowStep { loader_ns: loader_ns(place), ..WindowStep::default() }).window;
        Facts { window, ..loading(600_000) }
    };
    check(rule, &on_path(1_200_000, 40), NOTHING);
    check(rule, &on_path(1_240_000, 40), at(60_000.0));
    check(rule, &on_path(1_240_000, 2), at(60_000.0));
    check(rule, &on_path(5_100_000, 1), NOTHING);
    // One rank waits: its share counts, not that of all.
    let mut of_two = on_path(1_240_000, 40);
    let others = of_two.window.clone().unwrap().steps.into_iter();
    let others = others.map(|step| WindowStep { rank: 1, loader_ns: 0, ..step });
    of_two.window.as_mut().unwrap().steps.extend(others);
    check(rule, &of_two, at(60_000.0));
    // Only the first step of an epoch waits: that is for another rule to say.
    let mut first = on_path(1_240_000, 2);
    let steps = &mut first.window.as_mut().unwrap().steps;
    steps[..2].iter_mut().for_each(|step| step.begins_epoch = true);
    check(rule, &first, NOTHING);
    // The larger of both is at stake, not their sum.
    check(rule, &Facts { region_loading_ns: 600_000, ..loading(700_000) }, at(70_000.0));
    check(rule, &Facts { region_loading_ns: 700_000, ..loading(600_000) }, at(70_000.0));
}

#[test]
fn communication_begins_above_a_tenth_and_leaves_waiting_to_the_straggler() {
    let rule = &exposed_communication::RULE;
    let exposed = |ns, wait_ns: Option<i64>| Facts {
        waits: wait_ns.map(|wait_ns| Waits { wait_ns, exposed_ns: wait_ns, ..Waits::default() }),
        ..with_class(Class::Communication, ns)
    };
    check(rule, &exposed(1_000_000, None), NOTHING);
    check(rule, &exposed(1_000_001, None), at(100_000.1));
    // The false alarm: most of it is waiting for a slow rank.
    check(rule, &exposed(4_000_000, Some(2_000_001)), NOTHING);
    check(rule, &exposed(4_000_000, Some(2_000_000)), at(200_000.0));
    // What counts is what is on the critical path.
    let on_path = |communication_ns: i64| {
        let step = |_| WindowStep { communication_ns, ..WindowStep::default() };
        Facts { window: replayed(10, step).window, ..exposed(4_000_000, None) }
    };
    check(rule, &on_path(100_000), NOTHING);
    check(rule, &on_path(100_001), at(400_000.0));
    check(rule, &on_path(0), NOTHING);
}

#[test]
fn a_straggler_is_waiting_that_shows_and_that_few_cause() {
    let rule = &straggler::RULE;
    let waits = |wait_ns, exposed_ns, stragglers: &[(i64, i64)]| Facts {
        ranks: 2,
        waits: Some(Waits {
            wait_ns,
            exposed_ns,
            exposed_caused_ns: exposed_ns,
            waiting_steps: 5,
            stragglers: stragglers.to_vec(),
            ..Waits::default()
        }),
        ..facts()
    };
    let one = &[(1, 900_000)];
    check(rule, &waits(200_000, 200_000, one), NOTHING);
    check(rule, &waits(200_001, 200_001, one), at(40_000.2));
    check(rule, &waits(1_000_000, 100_000, one), NOTHING);
    check(rule, &waits(1_000_000, 100_001, one), at(20_000.2));
    // What ranks wait is within a step.
    check(rule, &waits(9_000_000, 9_000_000, one), at(1_000_000.0));
    // Nobody in particular: more is needed before it is worth a word.
    check(rule, &waits(1_000_000, 1_000_000, &[]), NOTHING);
    check(rule, &waits(1_000_001, 1_000_001, &[]), at(100_000.1));
    check(rule, &Facts { ranks: 2, ..facts() }, NOTHING);
}

#[test]
fn utilization_is_low_below_a_half() {
    let rule = &low_utilization::RULE;
    let busy = |kernel_busy_ns, idle_ns| Facts { kernel_busy_ns, ..with_class(Class::Other, idle_ns) };
    check(rule, &busy(5_000_000, 5_000_000), NOTHING);
    check(rule, &busy(4_999_999, 5_000_001), at(500_000.1));
    // False alarms: no device at all, and work from before the recording.
    check(rule, &Facts { device_events: 0, ..busy(0, 10_000_000) }, NOTHING);
    let mut before = busy(4_000_000, 6_000_000);
    before.before_recording[Class::Other as usize] = 2_000_000;
    check(rule, &before, NOTHING);
    before.kernel_busy_ns = 3_999_999;
    check(rule, &before, at(400_000.0));
    let mut all_before = busy(0, 10_000_000);
    all_before.before_recording[Class::Other as usize] = 10_000_000;
    check(rule, &all_before, NOTHING);
    // Loading is at stake elsewhere.
    let loading = Facts { region_loading_ns: 4_000_000, ..busy(4_000_000, 6_000_000) };
    check(rule, &loading, at(200_000.0));
}

#[test]
fn tensor_cores_are_idle_where_there_are_some_and_work_for_them() {
    let rule = &tensor_cores_idle::RULE;
    let work = |eligible_ns, tensor_core_ns| Facts {
        operator_device_ns: 1_000_000,
        eligible_ns,
        tensor_core_ns,
        without_cores_ns: 500_000,
        ..facts()
    };
    check(rule, &work(100_000, 0), NOTHING);
    check(rule, &work(100_001, 0), at(50_000.0));
    check(rule, &work(500_000, 99_999), at(50_000.0));
    check(rule, &work(500_000, 100_000), NOTHING);
    let old = Device { name: Some("Quadro GP100".to_owned()), compute_major: Some(6), ..Device::default() };
    check(rule, &Facts { hardware: Hardware::of(&[&old], None), ..work(500_000, 0) }, NOTHING);
    check(rule, &Facts { hardware: Hardware::default(), ..work(500_000, 0) }, NOTHING);
}

#[test]
fn small_kernels_are_many_where_launching_them_shows() {
    let rule = &many_small_kernels::RULE;
    let launches = |launches, shorter_than_call, exposed_launch_ns| Facts {
        launches,
        exposed_launch_ns,
        shorter_than_call,
        ..facts()
    };
    check(rule, &launches(1_000, 399, 300_000), NOTHING);
    check(rule, &launches(1_000, 400, 300_000), at(30_000.0));
    check(rule, &launches(999, 999, 300_000), NOTHING);
    // The false alarm: the device is the limit, and launches run ahead.
    check(rule, &launches(1_000, 1_000, 200_000), NOTHING);
    check(rule, &launches(1_000, 1_000, 200_001), at(20_000.1));
    // With a replay, that shows by the saving.
    let window = replayed(10, |_| WindowStep::default()).window;
    check(rule, &Facts { window, ..launches(1_000, 400, 0) }, at(0.0));
}

#[test]
fn fusion_is_missed_from_a_twentieth_of_kernel_time_on() {
    let rule = &missed_fusion::RULE;
    let runs = |fusible_ns: i64, steps: usize| {
        replayed(10, |place| {
            let has_run = place < steps;
            WindowStep {
                kernel_ns: 500_000,
                fusible: if has_run { 3 } else { 0 },
                fusible_ns: if has_run { fusible_ns } else { 0 },
                fusible_path_ns: if has_run { 10_000 } else { 0 },
                ..WindowStep::default()
            }
        })
    };
    check(rule, &runs(25_000, 10), at(10_000.0));
    check(rule, &runs(24_999, 10), NOTHING);
    check(rule, &runs(50_000, 5), at(5_000.0));
    // In few steps only.
    check(rule, &runs(400_000, 4), NOTHING);
    // The false alarm: everything is compiled, so there are no such runs.
    check(rule, &runs(0, 0), NOTHING);
}

#[test]
fn synchronization_is_frequent_from_five_waits_on_that_take_time() {
    let rule = &frequent_synchronization::RULE;
    let waits = |synchronizations, synchronization_ns| Facts { synchronizations, synchronization_ns, ..facts() };
    check(rule, &waits(49, 900_000), NOTHING);
    check(rule, &waits(50, 900_000), at(90_000.0));
    // The false alarm: many calls that return at once.
    check(rule, &waits(5_000, 500_000), NOTHING);
    check(rule, &waits(5_000, 500_001), at(50_000.1));
    // A replay knows which calls did wait, and in which steps.
    let replayed = |count: usize, steps: usize| {
        let step = move |place| WindowStep { waits: if place < steps { count } else { 0 }, ..WindowStep::default() };
        Facts { window: replayed(10, step).window, ..waits(5_000, 900_000) }
    };
    check(rule, &replayed(4, 10), NOTHING);
    check(rule, &replayed(5, 10), at(90_000.0));
    check(rule, &replayed(10, 5), at(90_000.0));
    check(rule, &replayed(100, 4), NOTHING);
}

#[test]
fn pageable_copies_are_found_where_kernels_do_not_hide_them() {
    let rule = &pageable_copies::RULE;
    let copies = |count, time_ns, hidden_ns| Facts {
        pageable: Copies { count, size_bytes: 1_000_000, sum_ns: time_ns, time_ns, hidden_ns },
        ..facts()
    };
    check(rule, &copies(10, 499_999, 0), NOTHING);
    check(rule, &copies(10, 500_000, 0), at(50_000.0));
    check(rule, &copies(10, 500_001, 0), at(50_000.1));
    // The false alarm: kernels hide more than half.
    check(rule, &copies(10, 2_000_000, 1_000_001), NOTHING);
    check(rule, &copies(10, 2_000_000, 1_000_000), at(100_000.0));
    check(rule, &copies(0, 2_000_000, 0), NOTHING);
}

#[test]
fn data_parallel_needs_two_devices_with_work() {
    let rule = &data_parallel::RULE;
    let forward = |devices_of_a_rank, data_parallel_ns| Facts { devices_of_a_rank, data_parallel_ns, ..facts() };
    check(rule, &forward(2, 1_000_000), at(100_000.0));
    check(rule, &forward(8, 1), at(0.1));
    check(rule, &forward(2, 0), NOTHING);
    // The false alarm: wrapped, but on one device.
    check(rule, &forward(1, 1_000_000), NOTHING);
}

#[test]
fn gpus_communicate_through_the_host_only_in_ddp_on_devices() {
    let rule = &non_nccl::RULE;
    let gloo = |frameworks: &[Framework], device_events| Facts {
        host_backends: ["gloo".to_owned()].into(),
        host_communication_ns: 1_000_000,
        frameworks: frameworks.iter().copied().collect(),
        device_events,
        ..facts()
    };
    check(rule, &gloo(&[Framework::Ddp], 1), at(100_000.0));
    check(rule, &Facts { host_backends: std::collections::BTreeSet::default(), ..gloo(&[Framework::Ddp], 1) }, NOTHING);
    // False alarms: a job without devices, and control messages beside something else than DDP.
    check(rule, &gloo(&[Framework::Ddp], 0), NOTHING);
    check(rule, &gloo(&[], 1), NOTHING);
}

#[test]
fn memory_is_short_above_nine_tenths() {
    let rule = &memory_pressure::RULE;
    let memory = |peak, capacity| Facts { memory: Some((peak, capacity)), ..facts() };
    check(rule, &memory(900, 1_000), NOTHING);
    check(rule, &memory(901, 1_000), SOMETHING);
    // A device whose memory is not known.
    check(rule, &memory(901, 0), NOTHING);
    check(rule, &facts(), NOTHING);
}
