//! Communication that nothing hides.

use stepscope_model::{Class, Severity};

use super::{Facts, Found, Rule};
use crate::words;

const SHARE: f64 = 0.10;
const HIGH_SHARE: f64 = 0.25;

pub(super) static RULE: Rule = Rule {
    name: "communication",
    title: "Communication is exposed",
    what: "More than 10 % of the step time passes in collectives while no kernel computes.",
    why: "The device waits for data of other ranks, or for the ranks themselves, instead of computing.",
    fix: "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)\n# accumulate gradients over several batches: with model.no_sync(): …",
    not_this: "if waiting for a slow rank is the cause: then that rank is to be fixed, see straggler",
    show: "stepscope comms",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let exposed_ns = facts.of(Class::Communication);
    let share = facts.share(exposed_ns);
    if share <= SHARE {
        return None;
    }
    let evidence = vec![format!("collectives that nothing hides are {} of the step time", words::ratio(share))];
    let severity = if share > HIGH_SHARE { Severity::High } else { Severity::Medium };
    Some(Found { severity, at_stake_ns: Some(facts.per_step(exposed_ns)), evidence })
}
