//! The optimizer launches a kernel for each parameter.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Kernels, Limits, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.05,
    meaning: "host time inside `Optimizer.step` above this share of the critical path",
};
const LAUNCHES: Threshold =
    Threshold { name: "launches_per_step", value: 100.0, meaning: "this many launches in it per step or more" };

pub(super) static RULE: Rule = Rule {
    name: "optimizer_on_host",
    label: "The optimizer launches one by one",
    what: "Host time inside `Optimizer.step` is more than {share_ratio} of the critical path, with at least {launches_per_step} launches per step.",
    why: "Without `foreach` or `fused`, the optimizer launches several kernels for each parameter.",
    thresholds: &[SHARE, LAUNCHES],
    weight: Weight::Saving(Remedy::Fuse(Kernels::OfTheOptimizer)),
    explained_by: Causes::None,
    fixes: &[Fix { code: "torch.optim.AdamW(…, fused=True)   # or foreach=True", when: &[] }],
    not_this: "if the optimizer is fused already, or is your own",
    show: &[Target::of("ops")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND name LIKE 'Optimizer.step%'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let share = window.share(|step| step.optimizer_ns);
    let least = limits.of(&LAUNCHES);
    let has_many = window.is_in(limits.steps(), |step| step.optimizer_launches as f64 >= least);
    if share <= limits.of(&SHARE) || !has_many {
        return None;
    }
    let launches = window.per_step(|step| step.optimizer_launches as i64);
    let host_ns = window.per_step(|step| step.optimizer_ns);
    let title = say!("The optimizer is {} of the critical path on the host", say::ratio(share));
    let evidence = vec![say!("{} launches per step in `Optimizer.step`", say::whole(launches))];
    let figures = vec![("share_ratio", share), ("launches_per_step", launches)];
    Some(Found { title, at_stake_ns: Some(host_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn many_launches_on_the_path_are_needed() {
        let steps = |optimizer_ns: i64, optimizer_launches: usize| {
            replayed(4, move |_| WindowStep { optimizer_ns, optimizer_launches, ..WindowStep::default() })
        };
        check(&RULE, &steps(50_001, 100), at(50_001.0));
        check(&RULE, &steps(50_000, 100), NOTHING);
        // The false alarm: a fused optimizer launches little.
        check(&RULE, &steps(200_000, 99), NOTHING);
    }
}
