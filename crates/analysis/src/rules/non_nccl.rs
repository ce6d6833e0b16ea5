//! Gradients of GPUs that travel through the host.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

pub(super) static RULE: Rule = Rule {
    name: "non_nccl",
    title: "GPUs communicate through the host",
    what: "DistributedDataParallel on devices, but collectives are done by gloo, mpi or ucc on the host.",
    why: "Data is copied to the host, sent by its processor, and copied back, instead of going from device to device.",
    fix: "torch.distributed.init_process_group(backend=\"nccl\")",
    not_this: "if the devices have no NCCL or RCCL, or only small control messages take this way",
    show: "stepscope regions",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let host_ns: i64 = facts.host_backends.values().sum();
    if host_ns == 0 || facts.device_events == 0 || !facts.has_ddp {
        return None;
    }
    let backends: Vec<&str> = facts.host_backends.keys().map(String::as_str).collect();
    let at_stake = facts.per_step(host_ns);
    let evidence = vec![format!("{} takes {} a step", backends.join(", "), words::ns(at_stake))];
    Some(Found { severity: Severity::High, at_stake_ns: Some(at_stake), evidence })
}
