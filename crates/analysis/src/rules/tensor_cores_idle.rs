//! Work that tensor cores could do runs without them.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

/// Eligible work below this share of device time is not worth it.
const ELIGIBLE_SHARE: f64 = 0.10;
/// Above this share of eligible work on tensor cores there is little left to gain.
const USED_SHARE: f64 = 0.20;

pub(super) static RULE: Rule = Rule {
    name: "tensor_cores_idle",
    title: "Tensor cores idle while eligible",
    what: "Matrix products and convolutions take much device time, but few kernels have names of tensor core kernels.",
    why: "In fp32 a device with tensor cores computes matrix products several times slower than in fp16, bf16 or tf32.",
    fix: "with torch.autocast(\"cuda\", dtype=torch.bfloat16): …\ntorch.backends.cuda.matmul.allow_tf32 = True",
    not_this: "if fp32 is required, or kernels are renamed: the share on tensor cores is a lower bound",
    show: "stepscope kernels",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let device = facts.tensor_core_device.as_ref()?;
    if facts.kernel_ns == 0 || facts.eligible_ns == 0 {
        return None;
    }
    let eligible = facts.eligible_ns as f64 / facts.kernel_ns as f64;
    let used = facts.tensor_core_ns as f64 / facts.eligible_ns as f64;
    if eligible <= ELIGIBLE_SHARE || used >= USED_SHARE {
        return None;
    }
    let name = facts.eligible_name.as_deref().unwrap_or("matrix products");
    let on_cores = facts.tensor_core_ns as f64 / facts.kernel_ns as f64;
    let evidence = vec![
        format!("{} of kernel time could use them, at least {} does", words::ratio(eligible), words::ratio(on_cores)),
        format!("{name} and its like, on {device}"),
    ];
    let at_stake = facts.per_step(facts.eligible_ns - facts.tensor_core_ns.min(facts.eligible_ns));
    Some(Found { severity: Severity::Medium, at_stake_ns: Some(at_stake), evidence })
}
