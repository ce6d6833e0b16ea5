//! The host waits for the device again and again.

use stepscope_model::{Severity, Target, say};

use super::{Facts, Fix, Found, Instances, Rule};

/// Waits a step from which on it is no longer the end of the step alone.
const PER_STEP: f64 = 5.0;
const SHARE: f64 = 0.05;

pub(super) static RULE: Rule = Rule {
    name: "frequent_synchronization",
    label: "Frequent synchronization",
    what: "The host calls functions that wait for the device at least five times per step, for more than 5 % of its time.",
    why: "While the host waits it launches nothing, so the device runs out of work afterward.",
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

fn find(facts: &Facts) -> Option<Found> {
    let per_step = facts.synchronizations as f64 / facts.steps.max(1) as f64;
    let share = facts.share(facts.synchronization_ns);
    if per_step < PER_STEP || share <= SHARE {
        return None;
    }
    let title = say!("The host waits for the device {} times per step", say::whole(per_step));
    let evidence = vec![say!("these calls take {} of the step time", say::ratio(share))];
    let figures = vec![("calls_per_step", per_step), ("share_ratio", share)];
    let at_stake_ns = Some(facts.per_step(facts.synchronization_ns));
    Some(Found { title, severity: Severity::Medium, at_stake_ns, evidence, figures })
}
