//! Elementwise kernels and reductions in a row that a compiler would fuse.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Kernels, Limits, Need, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "kernel_ratio",
    value: 0.05,
    meaning: "runs of such kernels take this share of kernel time or more",
};

/// Kernels in a row that are worth fusing.
pub const LEAST_RUN: usize = 3;

pub(super) static RULE: Rule = Rule {
    name: "missed_fusion",
    label: "Kernels that could be fused",
    what: "Three or more elementwise kernels or reductions of single operators follow each other on a stream, and such runs take at least {kernel_ratio} of kernel time.",
    why: "Each of them reads its inputs from memory and writes its result back. A fused kernel does that once.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::Fuse(Kernels::ElementwiseRuns)),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "torch.compile(model)",
            when: &[Need::Without(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix {
            code: "# TORCH_LOGS=graph_breaks shows what torch.compile leaves out",
            when: &[Need::Uses(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix { code: "torch.optim.AdamW(…, fused=True)", when: &[Need::Uses(Framework::Optimizer)] },
        Fix { code: "# enable the engine's compiled or fused kernels", when: &[Need::Uses(Framework::Serving)] },
    ],
    not_this: "if the device waits for the host or for other ranks: fusing shortens only what the device computes",
    show: &[Target::of("kernels").grouped_by("category")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events} AND category IN ('elementwise', 'reduction')",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let (kernel_ns, fusible_ns) = (window.sum(|step| step.kernel_ns), window.sum(|step| step.fusible_ns));
    let share = fusible_ns as f64 / kernel_ns.max(1) as f64;
    if share < limits.of(&SHARE) || !window.is_in(limits.steps(), |step| step.fusible > 0) {
        return None;
    }
    let per_step = window.per_step(|step| step.fusible as i64);
    let mean_ns = fusible_ns as f64 / window.sum(|step| step.fusible as i64).max(1) as f64;
    let on_path_ns = window.per_step(|step| step.fusible_path_ns);
    Some(Found {
        title: say!("Kernels that could be fused take {} of kernel time", say::ratio(share)),
        at_stake_ns: Some(on_path_ns),
        evidence: vec![
            say!("{} kernels per step, {} each on average", say::count(per_step.round() as i64), say::ns(mean_ns)),
            say!("{} per step are on the critical path", say::ns(on_path_ns)),
        ],
        figures: vec![("share_ratio", share), ("kernels_per_step", per_step), ("mean_ns", mean_ns)],
    })
}
