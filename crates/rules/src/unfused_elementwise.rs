//! Elementwise kernels that a compiler would fuse.

use stepscope_model::{Severity, Target, say};

use super::{Facts, Fix, Found, Framework, Instances, Need, Rule};

/// From this share of device time on, fusing is worth a look.
const SHARE: f64 = 0.20;
/// Fewer kernels per step are not many.
const KERNELS_PER_STEP: f64 = 20.0;
/// Less of the step is not worth it.
const STEP_SHARE: f64 = 0.05;

pub(super) static RULE: Rule = Rule {
    name: "unfused_elementwise",
    label: "Unfused elementwise work",
    what: "Elementwise kernels of single operators take at least 20 % of device time and 5 % of the step.",
    why: "Each of them reads its inputs from memory and writes its result back. A fused kernel does that once.",
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
        "SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events} AND category = 'elementwise'",
    ),
    find,
};

/// Whether single elementwise kernels take enough of the device time to look at them one by one.
#[must_use]
pub fn are_many(facts: &Facts) -> bool {
    let unfused = &facts.unfused;
    unfused.sum_ns as f64 >= SHARE * facts.device_ns() as f64
        && unfused.count as f64 >= KERNELS_PER_STEP * facts.steps.max(1) as f64
        && unfused.sum_ns > 0
}

fn find(facts: &Facts) -> Option<Found> {
    let unfused = &facts.unfused;
    if !are_many(facts) || facts.share(unfused.exposed_ns) < STEP_SHARE {
        return None;
    }
    let share = unfused.sum_ns as f64 / facts.device_ns() as f64;
    let per_step = unfused.count as f64 / facts.steps.max(1) as f64;
    let mean_ns = unfused.sum_ns as f64 / unfused.count as f64;
    let mut evidence =
        vec![say!("{} kernels per step, {} each on average", say::count(per_step.round() as i64), say::ns(mean_ns))];
    if !unfused.operators.is_empty() {
        evidence.push(say!("most of it by {}", unfused.operators.join(", ")));
    }
    Some(Found {
        title: say!("Unfused elementwise kernels take {} of device time", say::ratio(share)),
        severity: Severity::Medium,
        at_stake_ns: Some(facts.per_step(unfused.exposed_ns)),
        evidence,
        figures: vec![
            ("unfused_share_ratio", share),
            ("unfused_kernels_per_step", per_step.round()),
            ("unfused_mean_ns", mean_ns),
        ],
    })
}
