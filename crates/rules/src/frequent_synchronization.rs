//! The host waits for the device again and again.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, Threshold, WaitingCalls, Weight};

const PER_STEP: Threshold = Threshold {
    name: "waits_per_step",
    value: 5.0,
    meaning: "calls that wait for the device: this many per step or more",
};
const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.05,
    meaning: "these calls take more than this share of the step, where nothing could be replayed",
};

pub(super) static RULE: Rule = Rule {
    name: "frequent_synchronization",
    label: "Frequent synchronization",
    what: "The host waits for the device in at least {waits_per_step} calls per step.",
    why: "While the host waits it launches nothing, so the device runs out of work afterward.",
    thresholds: &[PER_STEP, SHARE],
    weight: Weight::Saving(Remedy::NoSync(WaitingCalls::AllButTheLast)),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# .item(), .cpu(), print(tensor) and masks synchronize: keep values on the device,\n# log every n-th step, copy with non_blocking=True",
        when: &[],
    }],
    not_this: "if the device stays busy and the host has nothing else to do",
    show: &[Target::of("launches")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM runtime_calls WHERE {events} AND name LIKE '%Synchronize%'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let least = limits.of(&PER_STEP);
    let share = facts.share(facts.synchronization_ns);
    // A replay knows which calls did wait; names alone tell which might have.
    let per_step = match &facts.window {
        Some(window) if window.is_in(limits.steps(), |step| step.waits as f64 >= least) => {
            window.per_step(|step| step.waits as i64)
        }
        None if share > limits.of(&SHARE) => facts.synchronizations as f64 / facts.steps.max(1) as f64,
        _ => return None,
    };
    if per_step < least {
        return None;
    }
    let title = say!("The host waits for the device {} times per step", say::whole(per_step));
    let evidence = vec![say!("calls that synchronize take {} of the step time", say::ratio(share))];
    let figures = vec![("waits_per_step", per_step), ("share_ratio", share)];
    let at_stake_ns = Some(facts.per_step(facts.synchronization_ns));
    Some(Found { title, at_stake_ns, evidence, figures })
}
