//! Blocks are larger than what was asked for.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "rounding_ratio",
    value: 0.10,
    meaning: "bytes of allocated blocks that nothing asked for, above this share of them",
};
const LEAST: Threshold = Threshold { name: "rounding_bytes", value: 1e9, meaning: "and above this many bytes" };

pub(super) static RULE: Rule = Rule {
    name: "allocation_rounding",
    label: "Blocks larger than asked for",
    what: "When a memory snapshot is made, more than {rounding_ratio} and more than {rounding_bytes} of the allocated blocks is more than the program asked for.",
    why: "The allocator rounds sizes up, and gives a large block whole if the rest would be small.",
    thresholds: &[SHARE, LEAST],
    weight: Weight::Fixed(Severity::Low),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# keep many small tensors in one large one\n# leave roundup_power2_divisions out of PYTORCH_ALLOC_CONF, or raise it",
        when: &[],
    }],
    not_this: "if sizes are rounded on purpose, against fragments",
    show: &[Target::of("memory")],
    instances: Instances::memory_peak(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let state = facts.allocator.as_ref()?.state?;
    let unasked = (state.allocated_bytes - state.requested_bytes) as f64;
    let share = unasked / state.allocated_bytes.max(1) as f64;
    if share <= limits.of(&SHARE) || unasked <= limits.of(&LEAST) {
        return None;
    }
    let title = say!("{} of the allocated memory was not asked for", say::ratio(share));
    let allocated = state.allocated_bytes as f64;
    let evidence = vec![say!("{} of {} allocated at the end", say::memory(unasked), say::memory(allocated))];
    let figures = vec![("rounding_ratio", share), ("rounding_bytes", unasked), ("allocated_bytes", allocated)];
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts};
    use crate::{Allocator, AllocatorState, Facts};

    #[test]
    fn a_share_and_a_size_are_needed() {
        let gigabyte = 1_000_000_000;
        let rounded = |allocated_bytes: i64, requested_bytes: i64| {
            let state = Some(AllocatorState { allocated_bytes, requested_bytes, ..AllocatorState::default() });
            Facts { allocator: Some(Allocator { state, ..Allocator::default() }), ..facts() }
        };
        check(&RULE, &rounded(20 * gigabyte, 18 * gigabyte - 1), SOMETHING);
        check(&RULE, &rounded(20 * gigabyte, 18 * gigabyte), NOTHING);
        check(&RULE, &rounded(2 * gigabyte, gigabyte - 1), SOMETHING);
        // False alarms: little memory, and a snapshot without a state.
        check(&RULE, &rounded(2 * gigabyte, gigabyte), NOTHING);
        check(&RULE, &Facts { allocator: Some(Allocator::default()), ..facts() }, NOTHING);
        check(&RULE, &facts(), NOTHING);
    }
}
