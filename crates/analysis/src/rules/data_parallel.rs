//! One process for all devices instead of one each.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

pub(super) static RULE: Rule = Rule {
    name: "data_parallel",
    title: "DataParallel runs all GPUs from one process",
    what: "`DataParallel.forward` is in the trace.",
    why: "One Python process feeds every device, copies the model in each step and gathers the outputs on one device.",
    fix: "torch.nn.parallel.DistributedDataParallel(model)   # one process a GPU: torchrun --nproc_per_node=…",
    not_this: "if a single device is visible: DataParallel then only passes through",
    show: "stepscope ops",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    if facts.data_parallel_ns == 0 {
        return None;
    }
    let at_stake = facts.per_step(facts.data_parallel_ns);
    let evidence = vec![format!("DataParallel.forward takes {} of host time a step", words::ns(at_stake))];
    Some(Found { severity: Severity::Medium, at_stake_ns: Some(at_stake), evidence })
}
