//! The same kernels step after step, each launched by itself.

use std::collections::BTreeMap;

use stepscope_model::{Target, say};

use super::{
    Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Vendor, Weight,
    launch_bound,
};

const KERNELS: Threshold =
    Threshold { name: "kernels", value: 50.0, meaning: "a sequence of this many kernels or more" };
const STEPS: Threshold =
    Threshold { name: "steps", value: 3.0, meaning: "the same sequence in this many steps or more" };

pub(super) static RULE: Rule = Rule {
    name: "graph_candidate",
    label: "Steps that a graph could launch",
    what: "At least {steps} steps run the same sequence of at least {kernels} kernels, and launches hold the device up.",
    why: "A CUDA or HIP graph records the sequence once and launches it with one call.",
    thresholds: &[KERNELS, STEPS, launch_bound::HOST, launch_bound::STARTS],
    weight: Weight::Saving(Remedy::Graph),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "torch.compile(model, mode=\"reduce-overhead\")",
            when: &[Need::Without(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix { code: "# CUDA graphs: torch.cuda.make_graphed_callables(…)", when: &[Need::Of(Vendor::Nvidia)] },
        Fix { code: "# HIP graphs: torch.cuda.make_graphed_callables(…)", when: &[Need::Of(Vendor::Amd)] },
        Fix { code: "# record the step as a graph, if your device has them", when: &[Need::OfUnknown] },
    ],
    not_this: "if shapes change from step to step",
    show: &[Target::of("launches")],
    instances: Instances::all("SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events}"),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref().filter(|window| launch_bound::is_bound(window, limits))?;
    if facts.frameworks.contains(&Framework::Graphs) {
        return None;
    }
    let mut by_sequence: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for step in window.steps.iter().filter(|step| step.kernels as f64 >= limits.of(&KERNELS)) {
        *by_sequence.entry((step.kernels, step.sequence)).or_default() += 1;
    }
    let ((kernels, _), steps) = by_sequence.into_iter().max_by_key(|(_, steps)| *steps)?;
    if (steps as f64) < limits.of(&STEPS) || (steps as f64) < limits.steps() * window.steps.len() as f64 {
        return None;
    }
    let title =
        say!("{} steps launch the same {} kernels one by one", say::count(steps as i64), say::count(kernels as i64));
    let host_ns = window.per_step(|step| step.host_ns);
    let evidence = vec![say!("the host takes {} of the critical path per step", say::ns(host_ns))];
    let figures = vec![("steps", steps as f64), ("kernels", kernels as f64), ("host_ns", host_ns)];
    Some(Found { title, at_stake_ns: Some(host_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::{Framework, RULE};
    use crate::thresholds::{NOTHING, at, check, replayed};
    use crate::{Facts, WindowStep};

    /// Six steps that launches bound, of which some run the same kernels.
    fn steps(kernels: usize, same: usize, host_ns: i64) -> Facts {
        bound(6, kernels, same, host_ns)
    }

    fn many(count: usize, same: usize) -> Facts {
        bound(count, 50, same, 600_000)
    }

    fn bound(count: usize, kernels: usize, same: usize, host_ns: i64) -> Facts {
        replayed(count, move |place| WindowStep {
            host_ns,
            device_starts: kernels,
            starts_by_launch: kernels,
            kernels,
            sequence: if place < same { 7 } else { 100 + place as u64 },
            ..WindowStep::default()
        })
    }

    #[test]
    fn fifty_kernels_in_three_steps_are_worth_a_graph() {
        check(&RULE, &steps(50, 3, 600_000), at(600_000.0));
        check(&RULE, &steps(49, 6, 600_000), NOTHING);
        check(&RULE, &steps(50, 2, 600_000), NOTHING);
        // Three of many are too few, too.
        check(&RULE, &many(8, 4), at(600_000.0));
        check(&RULE, &many(8, 3), NOTHING);
        // The device is the limit.
        check(&RULE, &steps(50, 6, 400_000), NOTHING);
        // The false alarm: there are graphs already.
        let frameworks = [Framework::Graphs].into();
        check(&RULE, &Facts { frameworks, ..steps(50, 6, 600_000) }, NOTHING);
    }
}
