//! Memory is taken from the device's runtime while the loop runs.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Need, Part, Remedy, Rule, Threshold, Vendor, Weight};

const SHARE: Threshold =
    Threshold { name: "share_ratio", value: 0.005, meaning: "these calls take more than this share of the step time" };

pub(super) static RULE: Rule = Rule {
    name: "allocator_in_loop",
    label: "Memory calls in the loop",
    what: "Calls such as `cudaMalloc`, `cudaFree` or `cudaHostAlloc` are in at least half of the steps after the second, and take more than {share_ratio} of the time.",
    why: "The framework keeps memory to reuse it. A call into the runtime is slow and may wait for the device.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::Remove(Part::AllocatorCalls)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "# no call of empty_cache() in the loop", when: &[] },
        Fix { code: "# PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::Of(Vendor::Nvidia)] },
        Fix { code: "# pad inputs to a few sizes, and run the largest one first", when: &[] },
    ],
    not_this: "if inputs still grow from step to step",
    show: &[Target::of("launches"), Target::of("memory")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM runtime_calls
           WHERE {events} AND (name LIKE '%Malloc%' OR name LIKE '%Free%' OR name LIKE '%HostAlloc%')",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?.after_warm_up();
    let share = window.share(|step| step.allocator_ns);
    if share <= limits.of(&SHARE) || !window.is_in(limits.steps(), |step| step.allocator_calls > 0) {
        return None;
    }
    let per_step = window.per_step(|step| step.allocator_calls as i64);
    let call_ns = window.per_step(|step| step.allocator_ns);
    let calls = say::counted(per_step.round().max(1.0) as usize, "time");
    let title = say!("The loop calls memory functions of the runtime {} per step", calls);
    let evidence = vec![say!("these calls take {} per step", say::ns(call_ns))];
    let figures = vec![("calls_per_step", per_step), ("call_ns", call_ns), ("share_ratio", share)];
    Some(Found { title, at_stake_ns: Some(call_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn only_steps_after_the_second_count() {
        // Of ten steps the first two are warm-up, and `steps` of the other eight have a call.
        let calls = |allocator_ns: i64, steps: usize| {
            replayed(10, move |place| {
                let has_call = place < 2 + steps;
                WindowStep {
                    is_warm: place >= 2,
                    allocator_calls: usize::from(has_call),
                    allocator_ns: if has_call { allocator_ns } else { 0 },
                    ..WindowStep::default()
                }
            })
        };
        check(&RULE, &calls(5_001, 8), at(5_001.0));
        check(&RULE, &calls(5_000, 8), NOTHING);
        check(&RULE, &calls(20_000, 4), at(10_000.0));
        check(&RULE, &calls(200_000, 3), NOTHING);
        // The false alarm: warm-up alone.
        check(&RULE, &calls(500_000, 0), NOTHING);
    }
}
