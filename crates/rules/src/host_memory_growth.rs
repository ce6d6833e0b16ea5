//! The memory of the process grows from step to step.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Meant, Rule, Threshold, Weight, trend};

const RISES: Threshold =
    Threshold { name: "rises_ratio", value: 0.90, meaning: "memory is higher after this share of the steps, or more" };
const STEPS: Threshold = Threshold { name: "steps", value: 8.0, meaning: "this many steps or more" };

pub(super) static RULE: Rule = Rule {
    name: "host_memory_growth",
    label: "Memory of the process grows",
    what: "Resident memory at the end of a step is higher than before in at least {rises_ratio} of at least {steps} steps, and the trend is clear (Mann-Kendall, p < 0.01). Needs a recording with the memory of the process.",
    why: "Something keeps what earlier steps made. The system ends the process when its memory is full.",
    thresholds: &[RISES, STEPS],
    weight: Weight::Fixed(Severity::Low),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# keep numbers, not tensors: history.append(loss.item()) every n-th step\n# limit caches: functools.lru_cache(maxsize=…)",
        when: &[],
    }],
    not_this: "if files that are mapped into memory are read for the first time",
    show: &[Target::of("regions")],
    instances: Instances {
        sql: "SELECT name, CAST(NULL AS BIGINT) AS span_id, start_ns, CAST(value AS BIGINT) AS dur_ns
           FROM (SELECT *, ts_ns AS start_ns FROM counters) WHERE {events} AND name = 'process_rss_bytes'",
        meant: Meant::All,
        is_moment: true,
    },
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let rise = trend::rise(&facts.host_memory_after_steps, limits.of(&RISES), limits.of(&STEPS))?;
    let title = say!("Memory of the process grows by {} per step", say::memory(rise.per_step));
    Some(Found { title, at_stake_ns: None, evidence: vec![rise.in_words()], figures: rise.figures() })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Facts;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts};

    #[test]
    fn memory_of_the_process_must_rise_in_nearly_every_step() {
        let levels = |levels: &[i64]| Facts { host_memory_after_steps: levels.to_vec(), ..facts() };
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7, 8]), SOMETHING);
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7]), NOTHING);
        check(&RULE, &levels(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]), NOTHING);
        // False alarms: memory that is taken at the start, and none that was recorded.
        check(&RULE, &levels(&[1, 8, 8, 8, 8, 8, 8, 8]), NOTHING);
        check(&RULE, &facts(), NOTHING);
    }
}
