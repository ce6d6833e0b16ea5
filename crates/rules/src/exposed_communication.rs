//! Communication that nothing hides.

use stepscope_model::{Class, Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.10,
    meaning: "communication above this share of the critical path, or exposed for it without a path",
};

/// What sends each rank's part to the others, or sums parts: prefetching hides it.
const SHARDED: [&str; 2] = ["all_gather", "reduce_scatter"];
const ALL_REDUCE: [&str; 1] = ["all_reduce"];
const ALL_TO_ALL: [&str; 1] = ["all_to_all"];
const KNOWN: [&str; 4] = ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"];

pub(super) static RULE: Rule = Rule {
    name: "exposed_communication",
    label: "Exposed communication",
    what: "More than {share_ratio} of the critical path is communication, and less than half of that is waiting for other ranks.",
    why: "The device waits for data of other ranks, or for the ranks themselves, instead of computing.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::CommunicationOverlapped),
    explained_by: Causes::These(&["slow_link", "small_collectives"]),
    fixes: &[
        Fix {
            code: "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)\n# accumulate gradients over several batches: with model.no_sync(): …",
            when: &[Need::Uses(Framework::Ddp), Need::Collective(&ALL_REDUCE)],
        },
        Fix {
            code: "work = torch.distributed.all_reduce(tensor, async_op=True)   # compute, then work.wait()",
            when: &[Need::Without(Framework::Ddp), Need::Collective(&ALL_REDUCE)],
        },
        Fix {
            code: "FullyShardedDataParallel(model, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True)",
            when: &[Need::Uses(Framework::Fsdp), Need::Collective(&SHARDED)],
        },
        Fix {
            code: "# start it earlier with async_op=True, compute, then wait for it",
            when: &[Need::Without(Framework::Fsdp), Need::Collective(&SHARDED)],
        },
        Fix {
            code: "work = torch.distributed.all_to_all_single(output, input, async_op=True)   # compute, then work.wait()\n# or send less: a smaller dtype, fewer rows",
            when: &[Need::Collective(&ALL_TO_ALL)],
        },
        Fix {
            code: "# start communication earlier and compute meanwhile what does not need its result",
            when: &[Need::OtherCollective(&KNOWN)],
        },
    ],
    not_this: "if a slow rank is the cause: fix that rank, see straggler",
    show: &[Target::of("comms")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let exposed_ns = facts.of(Class::Communication);
    let share = match &facts.window {
        Some(window) if window.is_in(limits.steps(), |step| step.communication_ns > 0) => {
            window.share(|step| step.communication_ns)
        }
        Some(_) => return None,
        None => facts.share(exposed_ns),
    };
    // Waiting for other ranks is at stake for another rule.
    if share <= limits.of(&SHARE) || facts.is_mostly_waiting() {
        return None;
    }
    let per_step = |ns: i64| say::ns(facts.per_step(ns));
    let time = if facts.window.is_some() { "critical path" } else { "step" };
    let title = say!("Communication is {} of the {}", say::ratio(share), time);
    let wait_ns = facts.waits.as_ref().map_or(0, |waits| waits.exposed_ns);
    let own_ns = exposed_ns - wait_ns;
    let mut evidence = vec![say!("{} of exposed communication per step", per_step(exposed_ns))];
    if facts.waits.is_some() {
        evidence[0] = say!(
            "{}: {} waiting for other ranks, {} transfer",
            evidence[0].clone(),
            per_step(wait_ns),
            per_step(own_ns)
        );
    } else {
        evidence.push("how much of it is waiting for other ranks needs the traces of all ranks".into());
    }
    evidence.extend(facts.largest_collective.as_ref().map(|kind| say!("{} takes the most of it", kind)));
    let figures = vec![
        ("share_ratio", share),
        ("exposed_ns", facts.per_step(exposed_ns)),
        ("exposed_wait_ns", facts.per_step(wait_ns)),
        ("other_exposed_ns", facts.per_step(own_ns)),
    ];
    Some(Found { title, at_stake_ns: Some(facts.per_step(own_ns)), evidence, figures })
}
