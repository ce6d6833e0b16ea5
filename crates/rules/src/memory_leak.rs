//! Memory in use grows from step to step.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Rule, Threshold, Weight, trend};

const RISES: Threshold =
    Threshold { name: "rises_ratio", value: 0.90, meaning: "memory is higher after this share of the steps, or more" };
const STEPS: Threshold = Threshold { name: "steps", value: 8.0, meaning: "this many steps or more" };

pub(super) static RULE: Rule = Rule {
    name: "memory_leak",
    label: "Memory grows",
    what: "Allocated memory at the end of a step is higher than before in at least {rises_ratio} of at least {steps} steps, and the trend is clear (Mann-Kendall, p < 0.01).",
    why: "Something keeps tensors of earlier steps. The job ends when the memory is full.",
    thresholds: &[RISES, STEPS],
    weight: Weight::Fixed(Severity::Medium),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# keep no tensor with its graph: losses.append(loss.detach()), not losses.append(loss)\n# `stepscope memory` lists what stays allocated",
        when: &[],
    }],
    not_this: "if a cache still fills, such as the keys and values of a server",
    show: &[Target::of("memory")],
    instances: Instances::memory_peak(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let levels = &facts.memory_after_steps;
    let rise = trend::rise(levels, limits.of(&RISES), limits.of(&STEPS))?;
    let title = say!("Allocated memory grows by {} per step", say::memory(rise.per_step));
    let mut evidence = vec![rise.in_words()];
    let mut figures = rise.figures();
    let last = *levels.last()?;
    if let Some((_, capacity)) = facts.memory.filter(|(_, capacity)| *capacity > last) {
        let left = ((capacity - last) as f64 / rise.per_step).floor();
        evidence.push(say!("at this rate the device is full after {} more steps", say::count(left as i64)));
        figures.push(("steps_until_full", left));
    }
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Facts;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts, figure};

    #[test]
    fn memory_must_rise_in_nearly_every_step() {
        let levels = |levels: &[i64]| Facts { memory_after_steps: levels.to_vec(), ..facts() };
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7, 8]), SOMETHING);
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7]), NOTHING);
        // Nine rises of ten, and eight of ten.
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]), SOMETHING);
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]), NOTHING);
        // False alarms: a cache that has filled, and no memory events.
        check(&RULE, &levels(&[1, 2, 3, 4, 4, 4, 4, 4]), NOTHING);
        check(&RULE, &facts(), NOTHING);
    }

    #[test]
    fn steps_until_full_follow_from_the_growth() {
        let facts = Facts {
            // Begins above 0, so that growth is a difference.
            memory_after_steps: (0..8).map(|step| 50 + step * 100).collect(),
            memory: Some((750, 1_050)),
            ..facts()
        };
        for (name, want) in [("growth_bytes", 100.0), ("rises", 7.0), ("steps", 7.0), ("steps_until_full", 3.0)] {
            assert_eq!(figure(&RULE, &facts, name), Some(want), "{name}");
        }
        // What is full already has no steps left.
        let full = Facts { memory: Some((750, 750)), ..facts };
        assert_eq!(figure(&RULE, &full, "steps_until_full"), None);
    }
}
