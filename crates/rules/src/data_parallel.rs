//! One process for all devices instead of one each.

use stepscope_model::{Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Rule, Weight};

pub(super) static RULE: Rule = Rule {
    name: "data_parallel",
    label: "DataParallel",
    what: "`DataParallel.forward` is in the trace, and more than one device has work.",
    why: "One Python process feeds every device, copies the model in each step and gathers the outputs on one device.",
    thresholds: &[],
    weight: Weight::Fixed(Severity::Medium),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "torch.nn.parallel.DistributedDataParallel(model)   # one process per GPU: torchrun --nproc_per_node=…",
        when: &[],
    }],
    not_this: "if the second device is used for something else",
    show: &[Target::of("ops")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND name LIKE 'DataParallel.%'",
    ),
    find,
};

fn find(facts: &Facts, _: &Limits<'_>) -> Option<Found> {
    if facts.data_parallel_ns == 0 || facts.devices_of_a_rank < 2 {
        return None;
    }
    let title = say!("DataParallel feeds {} from one process", say::counted(facts.devices_of_a_rank, "GPU"));
    let at_stake = facts.per_step(facts.data_parallel_ns);
    let evidence = vec![say!("DataParallel.forward takes {} of host time per step", say::ns(at_stake))];
    let figures = vec![("devices", facts.devices_of_a_rank as f64)];
    Some(Found { title, at_stake_ns: Some(at_stake), evidence, figures })
}
