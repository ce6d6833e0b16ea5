//! Work that tensor cores could do runs without them.

use stepscope_model::{Target, say};

use super::{
    Causes, Facts, Fix, Found, Instances, Limits, Meant, Need, NumberFormat, Remedy, Rule, Threshold, Thresholds,
    Weight, Work,
};

const ELIGIBLE: Threshold = Threshold {
    name: "eligible_ratio",
    value: 0.10,
    meaning: "work that tensor cores could do above this share of device time",
};
const USED: Threshold =
    Threshold { name: "used_ratio", value: 0.20, meaning: "less than this share of that work runs on tensor cores" };

pub(super) static RULE: Rule = Rule {
    name: "tensor_cores_idle",
    label: "Idle tensor cores",
    what: "Matrix products, convolutions and attention take more than {eligible_ratio} of device time, and less than {used_ratio} of that runs in kernels with names of tensor core kernels.",
    why: "In fp32 a device with tensor cores computes matrix products several times slower than in fp16, bf16 or TF32.",
    thresholds: &[ELIGIBLE, USED],
    weight: Weight::Saving(Remedy::Scale(Work::WithoutTensorCores)),
    explained_by: Causes::None,
    fixes: &[
        Fix::BF16_AUTOCAST,
        Fix::FP16_AUTOCAST,
        Fix { code: "torch.backends.cuda.matmul.allow_tf32 = True", when: &[Need::Computes(NumberFormat::Tf32)] },
    ],
    not_this: "if fp32 is required, or kernels are renamed: the share on tensor cores is a lower bound",
    show: &[Target::of("kernels")],
    instances: Instances {
        sql: "SELECT name, first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id,
                  first_value(start_ns ORDER BY dur_ns DESC, span_id) AS start_ns, max(dur_ns) AS dur_ns
           FROM device_events WHERE {events} AND category IN ('gemm', 'convolution', 'attention') GROUP BY name",
        meant: Meant::WithoutTensorCores,
        is_moment: false,
    },
    find,
};

/// Whether so much eligible work has no tensor cores that it is a finding.
#[must_use]
pub fn is_found(facts: &Facts, thresholds: &Thresholds) -> bool {
    is_within(facts, &thresholds.of(&RULE))
}

fn is_within(facts: &Facts, limits: &Limits<'_>) -> bool {
    facts.hardware.computes(NumberFormat::Fp16)
        && facts.eligible_ns as f64 > limits.of(&ELIGIBLE) * facts.operator_device_ns as f64
        && (facts.tensor_core_ns as f64) < limits.of(&USED) * facts.eligible_ns as f64
}

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let vendor = facts.hardware.vendor.filter(|_| is_within(facts, limits))?;
    let units = vendor.matrix_units();
    let used = facts.tensor_core_ns as f64 / facts.eligible_ns as f64;
    let title = say!("Up to {} of eligible work runs without {}", say::ratio(1.0 - used), units);
    let of_device = |ns: i64| ns as f64 / facts.operator_device_ns.max(1) as f64;
    let (eligible, on_cores) = (of_device(facts.eligible_ns), of_device(facts.tensor_core_ns));
    let name = facts.eligible_name.as_deref().unwrap_or("matrix products");
    let device = facts.hardware.name.as_deref().unwrap_or("the device");
    let evidence = vec![
        say!("{} of device time could use them, at least {} does", say::ratio(eligible), say::ratio(on_cores)),
        say!("{} and similar kernels, on {}", name, device),
    ];
    let figures = vec![("unused_ratio", 1.0 - used), ("eligible_ratio", eligible), ("on_cores_ratio", on_cores)];
    let at_stake_ns = Some(facts.per_step(facts.without_cores_ns));
    Some(Found { title, at_stake_ns, evidence, figures })
}
