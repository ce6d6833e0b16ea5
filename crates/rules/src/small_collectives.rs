//! Many collectives that each move little.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Weight};

const PER_STEP: Threshold = Threshold {
    name: "collectives_per_step",
    value: 20.0,
    meaning: "collectives below 1 MB: this many per step or more",
};
const SHARE: Threshold =
    Threshold { name: "share_ratio", value: 0.02, meaning: "these above this share of the critical path" };

/// A collective of fewer bytes is small: its latency takes longer than its transfer.
pub const SMALL_COLLECTIVE_BYTES: i64 = 1_000_000;

pub(super) static RULE: Rule = Rule {
    name: "small_collectives",
    label: "Many small collectives",
    what: "At least {collectives_per_step} collectives below 1 MB per step are more than {share_ratio} of the critical path.",
    why: "Each collective takes a latency, however little it moves.",
    thresholds: &[PER_STEP, SHARE],
    weight: Weight::Saving(Remedy::LargerCollectives),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "DistributedDataParallel(model, bucket_cap_mb=100)   # fewer, larger buckets",
            when: &[Need::Uses(Framework::Ddp)],
        },
        Fix {
            code: "# join tensors into one buffer: torch._utils._flatten_dense_tensors(…)",
            when: &[Need::Without(Framework::Ddp)],
        },
    ],
    not_this: "if the latency of one request is what you optimize",
    show: &[Target::of("comms")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let least = limits.of(&PER_STEP);
    let share = window.share(|step| step.small_collective_ns);
    let is_usual = window.is_in(limits.steps(), |step| step.small_collectives as f64 >= least);
    if share <= limits.of(&SHARE) || !is_usual {
        return None;
    }
    let per_step = window.per_step(|step| step.small_collectives as i64);
    let path_ns = window.per_step(|step| step.small_collective_ns);
    let title = say!("Small collectives are {} of the critical path", say::ratio(share));
    let evidence = vec![say!("{} of them per step", say::count(per_step.round() as i64))];
    let figures = vec![("share_ratio", share), ("collectives_per_step", per_step)];
    Some(Found { title, at_stake_ns: Some(path_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn many_must_be_on_the_path() {
        let collectives = |small_collectives: usize, small_collective_ns: i64| {
            replayed(4, move |_| WindowStep { small_collective_ns, small_collectives, ..WindowStep::default() })
        };
        check(&RULE, &collectives(20, 20_001), at(20_001.0));
        check(&RULE, &collectives(20, 20_000), NOTHING);
        check(&RULE, &collectives(19, 200_000), NOTHING);
        // The false alarm: kernels hide them.
        check(&RULE, &collectives(200, 0), NOTHING);
    }
}
