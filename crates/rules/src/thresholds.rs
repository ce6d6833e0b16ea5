//! Every rule at, below and above its thresholds, and where it would be a false alarm.

use stepscope_model::{Class, Device, KernelCategory, Severity};

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

/// Severity, and time at stake per step.
type Weight = (Severity, Option<f64>);

/// What the rule finds in such facts: its severity and the time at stake per step.
#[track_caller]
fn check(rule: &Rule, facts: &Facts, want: impl Into<Option<Weight>>) {
    let found = (rule.find)(facts);
    assert_eq!(
        found.as_ref().map(|found| (found.severity, found.at_stake_ns)),
        want.into(),
        "{}: {found:?}",
        rule.name
    );
}

const NOTHING: Option<Weight> = None;

fn medium(at_stake_ns: f64) -> Weight {
    (Severity::Medium, Some(at_stake_ns))
}

fn high(at_stake_ns: f64) -> Weight {
    (Severity::High, Some(at_stake_ns))
}

fn low(at_stake_ns: f64) -> Weight {
    (Severity::Low, Some(at_stake_ns))
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
fn data_loading_begins_above_a_twentieth() {
    let rule = &data_loading::RULE;
    let loading = |ns| with_class(Class::Dataloader, ns);
    check(rule, &loading(500_000), NOTHING);
    check(rule, &loading(500_001), medium(50_000.1));
    check(rule, &loading(1_500_000), medium(150_000.0));
    check(rule, &loading(1_500_001), high(150_000.1));
    // Regions count where there is no loader, and never more than the step.
    check(rule, &Facts { region_loading_ns: 600_000, ..facts() }, medium(60_000.0));
    check(rule, &Facts { region_loading_ns: 30_000_000, ..facts() }, high(1_000_000.0));
    // The larger of both is at stake, not their sum.
    check(rule, &Facts { region_loading_ns: 600_000, ..loading(700_000) }, medium(70_000.0));
    check(rule, &Facts { region_loading_ns: 700_000, ..loading(600_000) }, medium(70_000.0));
}

#[test]
fn communication_begins_above_a_tenth_and_leaves_waiting_to_the_straggler() {
    let rule = &communication::RULE;
    let exposed = |ns, wait_ns: Option<i64>| Facts {
        waits: wait_ns.map(|wait_ns| Waits { wait_ns, exposed_ns: wait_ns, ..Waits::default() }),
        ..with_class(Class::Communication, ns)
    };
    check(rule, &exposed(1_000_000, None), NOTHING);
    check(rule, &exposed(1_000_001, None), medium(100_000.1));
    check(rule, &exposed(2_500_000, None), medium(250_000.0));
    check(rule, &exposed(2_500_001, None), high(250_000.1));
    // The false alarm: nearly all of it is waiting for a slow rank.
    check(rule, &exposed(4_000_000, Some(3_900_000)), low(10_000.0));
    check(rule, &exposed(4_000_000, Some(3_000_000)), low(100_000.0));
    check(rule, &exposed(4_000_000, Some(2_999_999)), medium(100_000.1));
    check(rule, &exposed(4_000_000, Some(1_500_000)), medium(250_000.0));
    check(rule, &exposed(4_000_000, Some(1_499_999)), high(250_000.1));
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
        }),
        ..facts()
    };
    let one = &[(1, 900_000)];
    check(rule, &waits(200_000, 200_000, one), NOTHING);
    check(rule, &waits(200_001, 200_001, one), high(40_000.2));
    check(rule, &waits(1_000_000, 100_000, one), NOTHING);
    check(rule, &waits(1_000_000, 100_001, one), medium(20_000.2));
    check(rule, &waits(1_000_000, 200_000, one), medium(40_000.0));
    check(rule, &waits(1_000_000, 200_001, one), high(40_000.2));
    // What ranks wait is within a step.
    check(rule, &waits(9_000_000, 9_000_000, one), high(1_000_000.0));
    // Nobody in particular: more is needed before it is worth a word.
    check(rule, &waits(1_000_000, 1_000_000, &[]), NOTHING);
    check(rule, &waits(1_000_001, 1_000_001, &[]), medium(100_000.1));
    check(rule, &Facts { ranks: 2, ..facts() }, NOTHING);
}

#[test]
fn utilization_is_low_below_a_half() {
    let rule = &low_utilization::RULE;
    let busy = |kernel_busy_ns, idle_ns| Facts { kernel_busy_ns, ..with_class(Class::Other, idle_ns) };
    check(rule, &busy(5_000_000, 5_000_000), NOTHING);
    check(rule, &busy(4_999_999, 5_000_001), medium(500_000.1));
    // Severe only if it is much, and long.
    check(rule, &busy(2_499_999, 7_500_001), medium(750_000.1));
    let long = |kernel_busy_ns, idle_ns| Facts { step_ns: 100_000_000, ..busy(kernel_busy_ns, idle_ns) };
    check(rule, &long(24_999_999, 10_000_000), high(1_000_000.0));
    check(rule, &long(25_000_000, 10_000_000), medium(1_000_000.0));
    check(rule, &long(24_999_999, 9_999_999), medium(999_999.9));
    // False alarms: no device at all, and work from before the recording.
    check(rule, &Facts { device_events: 0, ..busy(0, 10_000_000) }, NOTHING);
    let mut before = busy(4_000_000, 6_000_000);
    before.before_recording[Class::Other as usize] = 2_000_000;
    check(rule, &before, NOTHING);
    before.kernel_busy_ns = 3_999_999;
    check(rule, &before, medium(400_000.0));
    let mut all_before = busy(0, 10_000_000);
    all_before.before_recording[Class::Other as usize] = 10_000_000;
    check(rule, &all_before, NOTHING);
    // Loading is at stake elsewhere.
    let loading = Facts { region_loading_ns: 4_000_000, ..busy(4_000_000, 6_000_000) };
    check(rule, &loading, medium(200_000.0));
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
    check(rule, &work(100_001, 0), medium(50_000.0));
    check(rule, &work(500_000, 99_999), medium(50_000.0));
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
    check(rule, &launches(1_000, 400, 300_000), medium(30_000.0));
    check(rule, &launches(999, 999, 300_000), NOTHING);
    // The false alarm: the device is the limit, and launches run ahead.
    check(rule, &launches(1_000, 1_000, 200_000), NOTHING);
    check(rule, &launches(1_000, 1_000, 200_001), medium(20_000.1));
}

#[test]
fn unfused_work_is_much_of_the_device_and_of_the_step() {
    let rule = &unfused_elementwise::RULE;
    let work = |count, sum_ns, exposed_ns| Facts {
        by_category: [(KernelCategory::Gemm, 5_000_000 - sum_ns), (KernelCategory::Elementwise, sum_ns)].into(),
        unfused: Unfused { count, sum_ns, exposed_ns, operators: Vec::new() },
        ..facts()
    };
    check(rule, &work(200, 1_000_000, 600_000), medium(60_000.0));
    check(rule, &work(199, 1_000_000, 600_000), NOTHING);
    check(rule, &work(200, 999_999, 600_000), NOTHING);
    // The false alarm: something else runs beside it or waits longer.
    check(rule, &work(200, 1_000_000, 499_999), NOTHING);
    check(rule, &work(200, 1_000_000, 500_000), medium(50_000.0));
    // Kernels that take no time, on a device that does nothing else.
    let instants = Unfused { count: 200, ..Unfused::default() };
    assert!(!are_elementwise_kernels_many(&Facts { unfused: instants, ..facts() }));
}

#[test]
fn synchronization_is_frequent_from_five_waits_on_that_take_time() {
    let rule = &frequent_synchronization::RULE;
    let waits = |synchronizations, synchronization_ns| Facts { synchronizations, synchronization_ns, ..facts() };
    check(rule, &waits(49, 900_000), NOTHING);
    check(rule, &waits(50, 900_000), medium(90_000.0));
    // The false alarm: many calls that return at once.
    check(rule, &waits(5_000, 500_000), NOTHING);
    check(rule, &waits(5_000, 500_001), medium(50_000.1));
}

#[test]
fn pageable_copies_are_found_where_kernels_do_not_hide_them() {
    let rule = &pageable_copies::RULE;
    let copies = |count, time_ns, hidden_ns| Facts {
        pageable: Copies { count, size_bytes: 1_000_000, sum_ns: time_ns, time_ns, hidden_ns },
        ..facts()
    };
    check(rule, &copies(10, 499_999, 0), NOTHING);
    check(rule, &copies(10, 500_000, 0), low(50_000.0));
    check(rule, &copies(10, 500_001, 0), medium(50_000.1));
    // The false alarm: kernels hide more than half.
    check(rule, &copies(10, 2_000_000, 1_000_001), NOTHING);
    check(rule, &copies(10, 2_000_000, 1_000_000), medium(100_000.0));
    check(rule, &copies(0, 2_000_000, 0), NOTHING);
}

#[test]
fn data_parallel_needs_two_devices_with_work() {
    let rule = &data_parallel::RULE;
    let forward = |devices_of_a_rank, data_parallel_ns| Facts { devices_of_a_rank, data_parallel_ns, ..facts() };
    check(rule, &forward(2, 1_000_000), medium(100_000.0));
    check(rule, &forward(8, 1), medium(0.1));
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
    check(rule, &gloo(&[Framework::Ddp], 1), high(100_000.0));
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
    check(rule, &memory(901, 1_000), (Severity::Medium, None));
    // A device whose memory is not known.
    check(rule, &memory(901, 0), NOTHING);
    check(rule, &facts(), NOTHING);
}
