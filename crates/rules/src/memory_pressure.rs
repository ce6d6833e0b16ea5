//! The device's memory is nearly full.

use stepscope_model::{Severity, Target, say};

use super::{
    Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, NumberFormat, Rule, Threshold, Vendor, Weight,
};

const SHARE: Threshold =
    Threshold { name: "full_ratio", value: 0.90, meaning: "peak above this share of the memory of the device" };

pub(super) static RULE: Rule = Rule {
    name: "memory_pressure",
    label: "Memory pressure",
    what: "The peak of memory in use is more than {full_ratio} of what the device has.",
    why: "Near the limit the allocator frees and retries, which synchronizes; a slightly larger input fails.",
    thresholds: &[SHARE],
    weight: Weight::Fixed(Severity::Medium),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "# a smaller batch", when: &[] },
        Fix {
            code: "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)   # activations computed twice",
            when: &[Need::Uses(Framework::Optimizer)],
        },
        Fix { code: "# or bf16", when: &[Need::Computes(NumberFormat::Bf16)] },
        Fix { code: "# or fp16", when: &[Need::Computes(NumberFormat::Fp16), Need::Lacks(NumberFormat::Bf16)] },
        Fix { code: "# or PYTORCH_ALLOC_CONF=expandable_segments:True", when: &[Need::Of(Vendor::Nvidia)] },
    ],
    not_this: "if the allocator was configured to reserve all memory in advance",
    show: &[Target::of("memory")],
    instances: Instances::memory_peak(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let (peak, capacity) = facts.memory?;
    if capacity <= 0 || peak as f64 <= limits.of(&SHARE) * capacity as f64 {
        return None;
    }
    let (peak, capacity) = (peak as f64, capacity as f64);
    let title = say!("GPU memory is {} full at the peak", say::ratio(peak / capacity));
    let evidence = vec![say!("{} of {} in use at the peak", say::memory(peak), say::memory(capacity))];
    let figures = vec![("full_ratio", peak / capacity), ("peak_bytes", peak), ("capacity_bytes", capacity)];
    Some(Found { title, at_stake_ns: None, evidence, figures })
}
