//! Work that tensor cores could do runs without them.

use stepscope_model::{Severity, Target, say};

use super::{Facts, Fix, Found, Instances, Meant, Need, NumberFormat, Rule};

/// Eligible work below this share of device time is not worth it.
const ELIGIBLE_SHARE: f64 = 0.10;
/// Above this share of eligible work on tensor cores there is little left to gain.
const USED_SHARE: f64 = 0.20;

pub(super) static RULE: Rule = Rule {
    name: "tensor_cores_idle",
    label: "Idle tensor cores",
    what: "Matrix products and convolutions take much device time, but few kernels have names of tensor core kernels.",
    why: "In fp32 a device with tensor cores computes matrix products several times slower than in fp16, bf16 or TF32.",
    fixes: &[
        Fix {
            code: "with torch.autocast(\"cuda\", dtype=torch.bfloat16): …",
            when: &[Need::Computes(NumberFormat::Bf16)],
        },
        Fix {
            code: "with torch.autocast(\"cuda\", dtype=torch.float16): …   # and torch.amp.GradScaler() to train",
            when: &[Need::Computes(NumberFormat::Fp16), Need::Lacks(NumberFormat::Bf16)],
        },
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
pub fn is_found(facts: &Facts) -> bool {
    facts.hardware.computes(NumberFormat::Fp16)
        && facts.eligible_ns as f64 > ELIGIBLE_SHARE * facts.operator_device_ns as f64
        && (facts.tensor_core_ns as f64) < USED_SHARE * facts.eligible_ns as f64
}

fn find(facts: &Facts) -> Option<Found> {
    let vendor = facts.hardware.vendor.filter(|_| is_found(facts))?;
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
    Some(Found { title, severity: Severity::Medium, at_stake_ns, evidence, figures })
}
