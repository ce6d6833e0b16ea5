//! An allocation failed.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Meant, Need, Rule, Vendor, Weight};

pub(super) static RULE: Rule = Rule {
    name: "out_of_memory",
    label: "Out of memory",
    what: "The history of a memory snapshot has an allocation that failed. One is enough.",
    why: "The job ends there, or frees what it can and tries again, which waits for the device.",
    thresholds: &[],
    weight: Weight::Fixed(Severity::High),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "# `stepscope memory` lists what held the memory at the peak, by line\n# a smaller batch",
            when: &[],
        },
        Fix {
            code: "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)   # activations computed twice",
            when: &[Need::Uses(Framework::Optimizer)],
        },
        Fix { code: "# or PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::Of(Vendor::Nvidia)] },
        Fix { code: "# on an NVIDIA GPU: PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::OfUnknown] },
    ],
    not_this: "if the program looks for the largest batch that fits",
    show: &[Target::of("memory")],
    instances: Instances {
        sql: "SELECT action AS name, CAST(NULL AS BIGINT) AS span_id, start_ns, size_bytes AS dur_ns
           FROM (SELECT *, ts_ns AS start_ns FROM memory_events) WHERE {events} AND action = 'oom'",
        meant: Meant::All,
        is_moment: true,
    },
    find,
};

fn find(facts: &Facts, _: &Limits<'_>) -> Option<Found> {
    let allocator = facts.allocator.as_ref().filter(|allocator| allocator.failures > 0)?;
    let times = if allocator.failures == 1 {
        say!("An allocation failed")
    } else {
        say!("{} allocations failed", say::count(allocator.failures))
    };
    let asked = allocator.failed_bytes as f64;
    let title = say!("{}: {} did not fit", times, say::memory(asked));
    let mut evidence = Vec::new();
    let mut figures = vec![("failures", allocator.failures as f64), ("failed_bytes", asked)];
    if let Some(free) = allocator.device_free_bytes {
        evidence.push(say!("the device had {} left", say::memory(free as f64)));
        figures.push(("device_free_bytes", free as f64));
    }
    evidence.push(say!(
        "{} were in use and {} reserved at the peak",
        say::memory(allocator.peak_active_bytes as f64),
        say::memory(allocator.peak_reserved_bytes as f64)
    ));
    figures.push(("peak_active_bytes", allocator.peak_active_bytes as f64));
    figures.push(("peak_reserved_bytes", allocator.peak_reserved_bytes as f64));
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts, figure};
    use crate::{Allocator, Facts};

    #[test]
    fn one_failure_is_enough() {
        let failed = |failures: i64| {
            let allocator =
                Allocator { failures, failed_bytes: 10, device_free_bytes: Some(3), ..Allocator::default() };
            Facts { allocator: Some(allocator), ..facts() }
        };
        check(&RULE, &failed(1), SOMETHING);
        check(&RULE, &failed(0), NOTHING);
        check(&RULE, &facts(), NOTHING);
        assert_eq!(figure(&RULE, &failed(2), "failures"), Some(2.0));
        assert_eq!(figure(&RULE, &failed(2), "device_free_bytes"), Some(3.0));
    }
}
