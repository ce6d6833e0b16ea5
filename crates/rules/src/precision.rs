//! Work that could use half of the bits uses all of them.

use stepscope_model::{Target, say};

use super::{
    Causes, Facts, Fix, Found, Instances, Limits, NumberFormat, Remedy, Rule, Threshold, Weight, Work,
    tensor_cores_idle,
};

const SHARE: Threshold = Threshold {
    name: "float_ratio",
    value: 0.90,
    meaning: "this share of the work that tensor cores can do, or more, has fp32 inputs",
};

pub(super) static RULE: Rule = Rule {
    name: "precision",
    label: "Full precision",
    what: "At least {float_ratio} of the device time of matrix products, convolutions and attention has fp32 inputs, on a device with tensor cores. Needs `record_shapes=True`.",
    why: "In fp16 or bf16 a device computes matrix products at least twice as fast and moves half of the bytes.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::Scale(Work::Eligible)),
    explained_by: Causes::None,
    fixes: &[Fix::BF16_AUTOCAST, Fix::FP16_AUTOCAST],
    not_this: "if the result must have the accuracy of fp32",
    show: &[Target::of("ops"), Target::of("kernels")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events
           WHERE {events} AND category IN ('gemm', 'convolution', 'attention')",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    // Where tensor cores idle, another rule says so.
    let is_told = tensor_cores_idle::is_found(facts, limits.all());
    let window = facts.window.as_ref().filter(|_| facts.hardware.computes(NumberFormat::Fp16) && !is_told)?;
    let (eligible_ns, float_ns) = (window.sum(|step| step.eligible_ns), window.sum(|step| step.float_ns));
    let share = float_ns as f64 / eligible_ns.max(1) as f64;
    if float_ns == 0 || share < limits.of(&SHARE) || !window.is_in(limits.steps(), |step| step.float_ns > 0) {
        return None;
    }
    let per_step = window.per_step(|step| step.float_ns);
    let title = say!("{} of matrix products and similar work has fp32 inputs", say::ratio(share));
    let evidence = vec![say!("this work takes {} of device time per step", say::ns(per_step))];
    let figures = vec![("float_ratio", share), ("float_ns", per_step)];
    Some(Found { title, at_stake_ns: Some(per_step), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, at, check, replayed};
    use crate::{Facts, Hardware, WindowStep};

    #[test]
    fn nearly_all_of_the_work_must_be_in_fp32() {
        let work = |float_ns: i64| {
            replayed(4, move |_| WindowStep { eligible_ns: 500_000, float_ns, ..WindowStep::default() })
        };
        check(&RULE, &work(450_000), at(450_000.0));
        check(&RULE, &work(449_999), NOTHING);
        // False alarms: a device without tensor cores, and types that were not recorded.
        check(&RULE, &Facts { hardware: Hardware::default(), ..work(500_000) }, NOTHING);
        check(&RULE, &work(0), NOTHING);
        // Another rule already says that tensor cores idle.
        let idle = Facts { operator_device_ns: 1_000_000, eligible_ns: 500_000, ..work(500_000) };
        check(&RULE, &idle, NOTHING);
    }
}
