//! Kernels that take less time than their launch.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

/// From this share of launches on, launching is what takes the time.
const SHARE: f64 = 0.40;
/// Fewer launches a step are not many.
const LAUNCHES_PER_STEP: f64 = 100.0;

pub(super) static RULE: Rule = Rule {
    name: "many_small_kernels",
    title: "Many small kernels",
    what: "Most launches start device work that is shorter than the call that launches it.",
    why: "The host cannot launch fast enough to keep the device busy, however fast the device is.",
    fix: "torch.optim.SGD(…, foreach=True), torch.compile(model), CUDA graphs",
    not_this: "if the device is the limit: launches then run ahead and cost nothing",
    show: "stepscope launches",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let share = facts.shorter_than_call as f64 / facts.launches.max(1) as f64;
    if share < SHARE || (facts.launches as f64) < LAUNCHES_PER_STEP * facts.steps.max(1) as f64 {
        return None;
    }
    let mut evidence = vec![
        format!(
            "{} of {} launches start work shorter than the call",
            words::count(facts.shorter_than_call),
            words::count(facts.launches)
        ),
        format!(
            "launch calls take {} of host time a step, median call {}",
            words::ns(facts.per_step(facts.launch_call_ns)),
            words::ns(facts.median_call_ns as f64)
        ),
    ];
    evidence.extend(
        facts.most_called.as_ref().map(|(name, calls)| format!("{name} is called {} times", words::count(*calls))),
    );
    Some(Found { severity: Severity::Medium, at_stake_ns: Some(facts.per_step(facts.launch_call_ns)), evidence })
}
