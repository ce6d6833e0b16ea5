//! The allocator holds memory that nothing uses.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Need, Rule, Threshold, Vendor, Weight};

const SHARE: Threshold = Threshold {
    name: "unused_ratio",
    value: 0.20,
    meaning: "memory that is reserved and not allocated above this share of what is reserved, at the peak",
};
const LEAST: Threshold = Threshold { name: "unused_bytes", value: 1e9, meaning: "and above this many bytes" };

pub(super) static RULE: Rule = Rule {
    name: "fragmentation",
    label: "Fragmented memory",
    what: "At the peak, more than {unused_ratio} and more than {unused_bytes} of what the allocator reserves is not allocated. In a memory snapshot: is free at its end, and stuck between blocks that are in use.",
    why: "Free blocks are too small for what is asked for, so the allocator takes more from the device.",
    thresholds: &[SHARE, LEAST],
    weight: Weight::Fixed(Severity::Low),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "# PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::Of(Vendor::Nvidia)] },
        Fix { code: "# on an NVIDIA GPU: PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::OfUnknown] },
        Fix { code: "# pad inputs to a few sizes, and run the largest one first", when: &[] },
    ],
    not_this: "if expandable segments are on, or the memory was taken in advance",
    show: &[Target::of("memory")],
    instances: Instances::memory_peak(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let stuck = facts.allocator.as_ref().and_then(|allocator| allocator.state);
    let stuck = stuck.map(|state| (state.stuck_bytes, state.reserved_bytes));
    let (unused, reserved) =
        stuck.or(facts.reserved_peak.map(|(allocated, reserved)| (reserved - allocated, reserved)))?;
    let unused = unused as f64;
    let share = unused / reserved.max(1) as f64;
    if share <= limits.of(&SHARE) || unused <= limits.of(&LEAST) {
        return None;
    }
    let (title, when) = match stuck {
        Some(_) => (say!("{} of the reserved memory is stuck in fragments", say::ratio(share)), "at the end"),
        None => (say!("{} of the reserved memory is not allocated at the peak", say::ratio(share)), "at the peak"),
    };
    let evidence = vec![say!("{} of {} {}", say::memory(unused), say::memory(reserved as f64), when)];
    let figures = vec![("unused_ratio", share), ("unused_bytes", unused), ("reserved_bytes", reserved as f64)];
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts};
    use crate::{Allocator, AllocatorState, Facts};

    #[test]
    fn a_share_and_a_size_are_needed() {
        let peak = |allocated: i64, reserved: i64| Facts { reserved_peak: Some((allocated, reserved)), ..facts() };
        let gigabyte = 1_000_000_000;
        check(&RULE, &peak(7 * gigabyte, 10 * gigabyte), SOMETHING);
        check(&RULE, &peak(8 * gigabyte, 10 * gigabyte), NOTHING);
        check(&RULE, &peak(8 * gigabyte - 1, 10 * gigabyte), SOMETHING);
        // False alarms: little memory, and totals that were not recorded.
        check(&RULE, &peak(0, gigabyte), NOTHING);
        check(&RULE, &peak(0, gigabyte + 1), SOMETHING);
        check(&RULE, &facts(), NOTHING);
    }

    #[test]
    fn a_snapshot_says_what_is_stuck() {
        let stuck = |stuck_bytes: i64| {
            let state = AllocatorState { stuck_bytes, reserved_bytes: 10_000_000_000, ..AllocatorState::default() };
            let allocator = Some(Allocator { state: Some(state), ..Allocator::default() });
            // What is cached can be given back.
            Facts { allocator, reserved_peak: Some((0, 10_000_000_000)), ..facts() }
        };
        check(&RULE, &stuck(2_000_000_000), NOTHING);
        check(&RULE, &stuck(2_000_000_001), SOMETHING);
    }
}
