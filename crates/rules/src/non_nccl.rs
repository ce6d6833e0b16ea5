//! Gradients of GPUs that travel through the host.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Part, Remedy, Rule, Vendor, Weight};

pub(super) static RULE: Rule = Rule {
    name: "non_nccl",
    label: "GPUs communicate through the host",
    what: "DistributedDataParallel runs on devices, but gloo, mpi or ucc does its collectives on the host.",
    why: "Data is copied to the host, sent by its processor, and copied back, instead of going from device to device.",
    thresholds: &[],
    weight: Weight::Saving(Remedy::Remove(Part::HostCollectives)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "torch.distributed.init_process_group(backend=\"nccl\")", when: &[Need::Of(Vendor::Nvidia)] },
        Fix {
            code: "torch.distributed.init_process_group(backend=\"nccl\")   # RCCL answers to this name",
            when: &[Need::Of(Vendor::Amd)],
        },
        Fix {
            code: "# pass the backend of your device to torch.distributed.init_process_group",
            when: &[Need::OfUnknown],
        },
    ],
    not_this: "if the devices have no NCCL or RCCL, or only small control messages go through the host",
    show: &[Target::of("regions")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, _: &Limits<'_>) -> Option<Found> {
    let is_ddp = facts.frameworks.contains(&Framework::Ddp);
    if facts.host_backends.is_empty() || facts.device_events == 0 || !is_ddp {
        return None;
    }
    let backends: Vec<String> = facts.host_backends.iter().cloned().collect();
    let at_stake = facts.per_step(facts.host_communication_ns);
    let title = say!("GPUs communicate through the host with {}", say::listed(&backends));
    let evidence = vec![say!("these collectives take {} per step", say::ns(at_stake))];
    Some(Found { title, at_stake_ns: Some(at_stake), evidence, figures: Vec::new() })
}
