//! Kernels with fewer blocks than the device has multiprocessors.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Weight, Work};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.10,
    meaning: "kernels with less than one block per multiprocessor above this share of the critical path",
};

pub(super) static RULE: Rule = Rule {
    name: "low_occupancy",
    label: "Kernels too small for the device",
    what: "Kernels with less than one block per multiprocessor are more than {share_ratio} of the critical path.",
    why: "Multiprocessors without a block idle while such a kernel runs.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::Scale(Work::LowOccupancy)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "# more work per kernel: a larger batch", when: &[Need::Without(Framework::Serving)] },
        Fix { code: "# more work per kernel: more requests per batch", when: &[Need::Uses(Framework::Serving)] },
        Fix { code: "# independent small kernels on several streams: torch.cuda.Stream()", when: &[] },
    ],
    not_this: "if the latency of one request is what you optimize",
    show: &[Target::of("kernels")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events} AND class = 'compute' AND blocks_per_sm < 1",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let share = window.share(|step| step.low_occupancy_ns);
    if share <= limits.of(&SHARE) || !window.is_in(limits.steps(), |step| step.low_occupancy_ns > 0) {
        return None;
    }
    let kernel_ns = window.per_step(|step| step.low_occupancy_ns);
    let title = say!("Kernels too small for the device are {} of the critical path", say::ratio(share));
    let evidence =
        vec![say!("kernels with less than one block per multiprocessor take {} per step", say::ns(kernel_ns))];
    let figures = vec![("share_ratio", share), ("kernel_ns", kernel_ns)];
    Some(Found { title, at_stake_ns: Some(kernel_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn small_kernels_on_the_path_count() {
        let small = |low_occupancy_ns: i64, steps: usize| {
            replayed(10, move |place| WindowStep {
                low_occupancy_ns: if place < steps { low_occupancy_ns } else { 0 },
                ..WindowStep::default()
            })
        };
        check(&RULE, &small(100_001, 10), at(100_001.0));
        check(&RULE, &small(100_000, 10), NOTHING);
        check(&RULE, &small(800_000, 4), NOTHING);
        // The false alarm: they run beside larger ones.
        check(&RULE, &small(0, 10), NOTHING);
    }
}
