//! The device idles half of the time.

use stepscope_model::{Class, Severity};

use super::{Facts, Found, Rule};
use crate::words;

const UTILIZATION: f64 = 0.50;

pub(super) static RULE: Rule = Rule {
    name: "low_utilization",
    title: "The GPU is idle half of the time",
    what: "Kernels run in less than half of the step time.",
    why: "The host does not give work fast enough: small batches, Python between operators, waiting for data.",
    fix: "# more work at a time: a larger batch; fewer, larger kernels: torch.compile(model)",
    not_this: "if the device is shared, or latency of single requests is what you optimise",
    show: "stepscope steps",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let utilization = facts.share(facts.kernel_busy_ns);
    if facts.device_events == 0 || facts.step_ns == 0 || utilization >= UTILIZATION {
        return None;
    }
    let idle_ns = facts.step_ns - facts.kernel_busy_ns;
    let host = [Class::Runtime, Class::CpuExec, Class::Other, Class::Dataloader];
    let largest = host.into_iter().max_by_key(|class| facts.of(*class))?;
    let evidence = vec![
        format!("a kernel runs in {} of the step time", words::ratio(utilization)),
        format!(
            "meanwhile the host is mostly in {}: {} a step",
            largest.as_text(),
            words::ns(facts.per_step(facts.of(largest)))
        ),
    ];
    Some(Found { severity: Severity::Medium, at_stake_ns: Some(facts.per_step(idle_ns)), evidence })
}
