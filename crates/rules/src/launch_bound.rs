//! The host launches more slowly than the device works.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Weight, Window};

pub(super) const HOST: Threshold =
    Threshold { name: "host_ratio", value: 0.50, meaning: "the host above this share of the critical path" };
pub(super) const STARTS: Threshold = Threshold {
    name: "starts_ratio",
    value: 0.50,
    meaning: "this share of device work, or more, starts when its launch lets it",
};

pub(super) static RULE: Rule = Rule {
    name: "launch_bound",
    label: "Launches hold the device up",
    what: "The host is more than {host_ratio} of the critical path, and at least {starts_ratio} of device work starts right after its launch.",
    why: "The device has nothing queued: it waits for the host after each kernel.",
    thresholds: &[HOST, STARTS],
    weight: Weight::Saving(Remedy::Graph),
    explained_by: Causes::Any,
    fixes: &[
        Fix {
            code: "torch.compile(model, mode=\"reduce-overhead\")",
            when: &[Need::Without(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix::CUDA_GRAPHS,
        Fix::HIP_GRAPHS,
        Fix::LARGER_BATCH,
        Fix::COMPILE_THE_STEP,
    ],
    not_this: "if device work is tiny by design",
    show: &[Target::of("launches")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND kind = 'rt'",
    ),
    find,
};

/// Whether launches hold the device up.
pub(super) fn is_bound(window: &Window, limits: &Limits<'_>) -> bool {
    let starts = window.sum(|step| step.device_starts as i64);
    let by_launch = window.sum(|step| step.starts_by_launch as i64);
    starts > 0
        && window.share(|step| step.host_ns) > limits.of(&HOST)
        && by_launch as f64 >= limits.of(&STARTS) * starts as f64
        && window.is_in(limits.steps(), |step| step.starts_by_launch > 0)
}

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    // A device that is busy all the time has nothing to gain.
    let window = facts.window.as_ref().filter(|window| facts.bound().is_none() && is_bound(window, limits))?;
    let host = window.share(|step| step.host_ns);
    let starts = window.sum(|step| step.device_starts as i64);
    let by_launch = window.sum(|step| step.starts_by_launch as i64) as f64 / starts as f64;
    let title = say!("The host is {} of the critical path", say::ratio(host));
    let evidence = vec![say!("{} of device work starts right after its launch", say::ratio(by_launch))];
    let figures = vec![("host_ratio", host), ("starts_ratio", by_launch)];
    Some(Found { title, at_stake_ns: Some(window.per_step(|step| step.host_ns)), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, figure, replayed};

    #[test]
    fn the_host_is_most_of_the_path_and_launches_decide() {
        let bound = |host_ns: i64, device_starts: usize, starts_by_launch: usize| {
            replayed(10, move |_| WindowStep { host_ns, device_starts, starts_by_launch, ..WindowStep::default() })
        };
        check(&RULE, &bound(500_001, 10, 5), at(500_001.0));
        assert_eq!(figure(&RULE, &bound(500_001, 10, 5), "starts_ratio"), Some(0.5));
        check(&RULE, &bound(500_000, 10, 5), NOTHING);
        check(&RULE, &bound(900_000, 10, 4), NOTHING);
        // False alarms: nothing runs on a device, and the device is the limit.
        check(&RULE, &bound(900_000, 0, 0), NOTHING);
        check(&RULE, &bound(100_000, 10, 10), NOTHING);
    }
}
