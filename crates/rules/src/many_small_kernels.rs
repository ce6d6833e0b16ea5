//! Kernels that take less time than their launch.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Kernels, Limits, Need, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "shorter_ratio",
    value: 0.40,
    meaning: "this share of launches, or more, start device work shorter than the call",
};
const LAUNCHES: Threshold =
    Threshold { name: "launches_per_step", value: 100.0, meaning: "this many launches per step or more" };
const EXPOSED: Threshold = Threshold {
    name: "exposed_ratio",
    value: 0.02,
    meaning: "launch calls with the device idle above this share of the step, where nothing could be replayed",
};

pub(super) static RULE: Rule = Rule {
    name: "many_small_kernels",
    label: "Many small kernels",
    what: "At least {shorter_ratio} of at least {launches_per_step} launches per step start device work shorter than the call.",
    why: "The host cannot launch fast enough to keep the device busy, however fast the device is.",
    thresholds: &[SHARE, LAUNCHES, EXPOSED],
    weight: Weight::Saving(Remedy::Fuse(Kernels::Small)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "torch.optim.SGD(…, foreach=True)", when: &[Need::Uses(Framework::Optimizer)] },
        Fix {
            code: "torch.compile(model)",
            when: &[Need::Without(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix::CUDA_GRAPHS,
        Fix::HIP_GRAPHS,
        Fix::LARGER_BATCH,
        Fix::COMPILE_THE_STEP,
    ],
    not_this: "if the device is the bottleneck: launches then run ahead and cost nothing",
    show: &[Target::of("launches")],
    instances: Instances::all(
        "SELECT launch.name, launch.span_id, launch.start_ns, launch.dur_ns
           FROM (SELECT * FROM runtime_calls WHERE {events}) AS launch
           JOIN (SELECT launch_id, dur_ns FROM device_events WHERE {events}) AS device
             ON device.launch_id = launch.span_id
           WHERE launch.dur_ns > device.dur_ns",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let share = facts.shorter_than_call as f64 / facts.launches.max(1) as f64;
    if share < limits.of(&SHARE) || (facts.launches as f64) < limits.of(&LAUNCHES) * facts.steps.max(1) as f64 {
        return None;
    }
    // A replay shows whether launches hold anything up; without one, the device must be idle meanwhile.
    if facts.window.is_none() && facts.share(facts.exposed_launch_ns) <= limits.of(&EXPOSED) {
        return None;
    }
    let title = say!("{} of launches start work shorter than the call", say::ratio(share));
    let mut evidence = vec![
        say!("{} of {} launches", say::count(facts.shorter_than_call), say::count(facts.launches)),
        say!(
            "launch calls take {} per step with the device idle, median call {}",
            say::ns(facts.per_step(facts.exposed_launch_ns)),
            say::ns(facts.median_call_ns as f64)
        ),
    ];
    evidence.extend(
        facts.most_called.as_ref().map(|(name, calls)| say!("{} is called {} times", name, say::count(*calls))),
    );
    let mut figures = vec![
        ("shorter_ratio", share),
        ("shorter_than_call", facts.shorter_than_call as f64),
        ("launches", facts.launches as f64),
        ("median_call_ns", facts.median_call_ns as f64),
    ];
    figures.extend(facts.most_called.as_ref().map(|(_, calls)| ("most_called", *calls as f64)));
    let at_stake_ns = Some(facts.per_step(facts.exposed_launch_ns));
    Some(Found { title, at_stake_ns, evidence, figures })
}
