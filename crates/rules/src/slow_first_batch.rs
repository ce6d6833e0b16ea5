//! The first step of an epoch waits for the loader to start.

use stepscope_model::{Target, say};

use super::{
    Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Thresholds, Weight,
};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.05,
    meaning: "data loading above this share of the first step of an epoch, and of no other step",
};

pub(super) static RULE: Rule = Rule {
    name: "slow_first_batch",
    label: "Slow first batch",
    what: "Data loading is more than {share_ratio} of the critical path in the first step of an epoch, and in no other step.",
    why: "Workers start again for each epoch and load their first batches while the step waits.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::FirstBatchReady),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "DataLoader(…, persistent_workers=True)   # workers stay for the next epoch",
            when: &[Need::Uses(Framework::LoaderWithWorkers)],
        },
        Fix { code: "# create the iterator of the next epoch before this one ends", when: &[] },
    ],
    not_this: "if the epoch is long: one batch of it matters little",
    show: &[Target::of("steps")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans
           WHERE {events} AND kind = 'ann' AND name LIKE 'enumerate(Data%'",
    ),
    find,
};

/// Whether the rule speaks, so that the one about data loading in general need not.
pub(super) fn is_found(facts: &Facts, thresholds: &Thresholds) -> bool {
    find(facts, &thresholds.of(&RULE)).is_some()
}

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let least = limits.of(&SHARE);
    let is_slow = |loader_ns: i64, dur_ns: i64| loader_ns as f64 > least * dur_ns as f64;
    let (first, others): (Vec<_>, Vec<_>) = window.steps.iter().partition(|step| step.begins_epoch);
    let slow = first.iter().filter(|step| is_slow(step.loader_ns, step.dur_ns)).count();
    if slow == 0 || others.is_empty() || others.iter().any(|step| is_slow(step.loader_ns, step.dur_ns)) {
        return None;
    }
    let loader_ns: i64 = first.iter().map(|step| step.loader_ns).sum();
    let mean_ns = loader_ns as f64 / first.len() as f64;
    let title = say!("The first step of an epoch waits {} for data", say::ns(mean_ns));
    let evidence = vec![say!("none of the other {} does", say::counted(others.len(), "step"))];
    let figures = vec![("first_ns", mean_ns), ("other_steps", others.len() as f64)];
    Some(Found { title, at_stake_ns: Some(loader_ns as f64 / window.steps.len() as f64), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, figure, replayed};

    #[test]
    fn only_the_first_step_waits() {
        let waits = |first_ns: i64, other_ns: i64, begins_epoch: bool| {
            replayed(10, move |place| WindowStep {
                begins_epoch: begins_epoch && place == 0,
                loader_ns: if place == 0 { first_ns } else { other_ns },
                ..WindowStep::default()
            })
        };
        check(&RULE, &waits(50_001, 50_000, true), at(5_000.1));
        check(&RULE, &waits(50_000, 0, true), NOTHING);
        let twice = replayed(10, |place| WindowStep {
            begins_epoch: place % 5 == 0,
            loader_ns: if place % 5 == 0 { 60_000 } else { 0 },
            ..WindowStep::default()
        });
        assert_eq!(figure(&RULE, &twice, "first_ns"), Some(60_000.0));
        // Others wait too: that is for another rule to say.
        check(&RULE, &waits(500_000, 50_001, true), NOTHING);
        // The false alarm: nothing says that an epoch begins there.
        check(&RULE, &waits(500_000, 0, false), NOTHING);
    }
}
