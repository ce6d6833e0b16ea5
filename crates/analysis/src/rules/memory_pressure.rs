//! The device's memory is nearly full.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

const SHARE: f64 = 0.90;

pub(super) static RULE: Rule = Rule {
    name: "memory_pressure",
    title: "GPU memory is nearly full",
    what: "The peak of memory in use is more than 90 % of what the device has.",
    why: "Near the limit the allocator frees and retries, which synchronises; a slightly larger input fails.",
    fix: "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)\n# or a smaller batch, bf16, PYTORCH_ALLOC_CONF=expandable_segments:True",
    not_this: "if the allocator was told to take all memory in advance",
    show: "stepscope memory",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let (peak, capacity) = facts.memory?;
    if capacity <= 0 || peak as f64 <= SHARE * capacity as f64 {
        return None;
    }
    let share = words::ratio(peak as f64 / capacity as f64);
    let evidence = vec![format!(
        "{} of {} in use at the peak, {share}",
        words::memory(peak as f64),
        words::memory(capacity as f64)
    )];
    Some(Found { severity: Severity::Medium, at_stake_ns: None, evidence })
}
