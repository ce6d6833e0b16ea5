//! The allocator gives memory back and takes it again.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Meant, Need, Rule, Threshold, Vendor, Weight};

const TURNS: Threshold = Threshold {
    name: "turns",
    value: 1.0,
    meaning: "bytes that are both given back and taken, above this many times the peak of reserved memory",
};

pub(super) static RULE: Rule = Rule {
    name: "cache_churn",
    label: "Cache given back",
    what: "In the history of a memory snapshot, the allocator gives back and takes more than {turns} times what it reserves at the peak.",
    why: "Memory goes back to the device and is taken again. Each of these calls is slow and may wait for the device.",
    thresholds: &[TURNS],
    weight: Weight::Fixed(Severity::Medium),
    explained_by: Causes::These(&["out_of_memory"]),
    fixes: &[
        Fix { code: "# no torch.cuda.empty_cache() in the loop", when: &[] },
        Fix { code: "# PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::Of(Vendor::Nvidia)] },
        Fix { code: "# on an NVIDIA GPU: PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::OfUnknown] },
        Fix { code: "# pad inputs to a few sizes, and run the largest one first", when: &[] },
    ],
    not_this: "if the program makes room for another on the same device",
    show: &[Target::of("memory")],
    instances: Instances {
        sql: "SELECT action AS name, CAST(NULL AS BIGINT) AS span_id, start_ns, abs(size_bytes) AS dur_ns
           FROM (SELECT *, ts_ns AS start_ns FROM memory_events)
           WHERE {events} AND action IN ('segment_free', 'segment_unmap')",
        meant: Meant::All,
        is_moment: true,
    },
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let allocator = facts.allocator.as_ref()?;
    let turned = allocator.taken_bytes.min(allocator.returned_bytes) as f64;
    let peak = allocator.peak_reserved_bytes as f64;
    if peak <= 0.0 || turned <= limits.of(&TURNS) * peak {
        return None;
    }
    let title = say!("The allocator gives back {} and takes it again", say::memory(turned));
    let evidence = vec![
        say!("{} times what is reserved at the peak, {}", format!("{:.1}", turned / peak), say::memory(peak)),
        say!("{} calls give memory back", say::count(allocator.returns)),
    ];
    let figures = vec![
        ("turned_bytes", turned),
        ("turns", turned / peak),
        ("peak_reserved_bytes", peak),
        ("returns", allocator.returns as f64),
    ];
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts};
    use crate::{Allocator, Facts};

    #[test]
    fn memory_must_go_and_come() {
        let turned = |taken_bytes: i64, returned_bytes: i64| {
            let allocator = Allocator { taken_bytes, returned_bytes, peak_reserved_bytes: 100, ..Allocator::default() };
            Facts { allocator: Some(allocator), ..facts() }
        };
        check(&RULE, &turned(101, 101), SOMETHING);
        check(&RULE, &turned(100, 101), NOTHING);
        // False alarms: memory that is taken once, and given back once.
        check(&RULE, &turned(1_000, 0), NOTHING);
        check(&RULE, &turned(0, 1_000), NOTHING);
        check(&RULE, &facts(), NOTHING);
    }
}
