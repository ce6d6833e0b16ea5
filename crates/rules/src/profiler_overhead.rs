//! The profiler itself takes a part of the step.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Part, Remedy, Rule, Threshold, Weight};

const OVERHEAD: Threshold = Threshold {
    name: "overhead_ratio",
    value: 0.02,
    meaning: "time that the profiler records as its own, above this share of the step",
};
const STACKS: Threshold = Threshold {
    name: "other_ratio",
    value: 0.20,
    meaning: "with Python stacks: host time outside of operators above this share of the critical path",
};

pub(super) static RULE: Rule = Rule {
    name: "profiler_overhead",
    label: "Cost of the profiler",
    what: "The profiler takes more than {overhead_ratio} of the step for itself; or it records Python stacks, and more than {other_ratio} of the critical path is Python.",
    why: "Times in the trace are longer than without the profiler, mostly on the host.",
    thresholds: &[OVERHEAD, STACKS],
    weight: Weight::Saving(Remedy::Remove(Part::ProfilerOverhead)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "profile(…, with_stack=False, record_shapes=False, profile_memory=False)", when: &[] },
        Fix { code: "# record fewer steps: schedule(wait=…, warmup=…, active=3)", when: &[] },
    ],
    not_this: "if you know the cost and compare traces that were recorded alike",
    show: &[Target::of("critical")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND kind = 'overhead'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let overhead = window.share(|step| step.overhead_ns);
    if overhead > limits.of(&OVERHEAD) {
        let overhead_ns = window.per_step(|step| step.overhead_ns);
        let title = say!("The profiler takes {} of the step", say::ratio(overhead));
        let evidence = vec![say!("it records {} per step as its own", say::ns(overhead_ns))];
        let figures = vec![("overhead_ratio", overhead), ("overhead_ns", overhead_ns)];
        return Some(Found { title, at_stake_ns: Some(overhead_ns), evidence, figures });
    }
    let other = window.share(|step| step.other_ns);
    let found = facts.has_stacks && other > limits.of(&STACKS);
    found.then(|| Found {
        title: say!("Python is {} of the critical path while stacks are recorded", say::ratio(other)),
        at_stake_ns: Some(window.per_step(|step| step.other_ns)),
        evidence: vec!["recording stacks slows Python down; by how much is not recorded".into()],
        figures: vec![("other_ratio", other)],
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, at, check, replayed};
    use crate::{Facts, WindowStep};

    #[test]
    fn its_own_time_and_that_of_stacks_count() {
        let overhead = |overhead_ns: i64| replayed(4, move |_| WindowStep { overhead_ns, ..WindowStep::default() });
        check(&RULE, &overhead(20_001), at(20_001.0));
        check(&RULE, &overhead(20_000), NOTHING);
        let python = |other_ns: i64, has_stacks: bool| Facts {
            has_stacks,
            ..replayed(4, move |_| WindowStep { other_ns, ..WindowStep::default() })
        };
        check(&RULE, &python(200_001, true), at(200_001.0));
        check(&RULE, &python(200_000, true), NOTHING);
        // The false alarm: Python is slow by itself.
        check(&RULE, &python(900_000, false), NOTHING);
    }
}
