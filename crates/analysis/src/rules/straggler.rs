//! Some ranks make the others wait.

use stepscope_model::Severity;

use super::{Facts, Found, Rule};
use crate::words;

/// Waiting below this share of the step time is noise.
const SHARE: f64 = 0.02;

pub(super) static RULE: Rule = Rule {
    name: "straggler",
    title: "Ranks wait for a slow one",
    what: "A rank arrives last at collectives and causes clearly more waiting than its share.",
    why: "A collective ends when the last rank has arrived; until then every other rank idles inside it.",
    fix: "# compare that rank with the others: its input, its GPU clocks, its host\nstepscope steps RUN --group-by rank",
    not_this: "if ranks have different work by design, as in pipelines, or the order of ranks is not what you expect",
    show: "stepscope comms",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let caused_ns: i64 = facts.stragglers.iter().map(|(_, caused_ns)| caused_ns).sum();
    // Waiting is added up over ranks, the time of a step is that of one.
    let per_rank = |ns: i64| ns / facts.ranks.max(1) as i64;
    if facts.stragglers.is_empty() || facts.share(facts.wait_ns) <= SHARE || facts.wait_ns == 0 {
        return None;
    }
    let share = caused_ns as f64 / facts.wait_ns as f64;
    let steps_of_a_rank = (facts.steps / facts.ranks.max(1)).max(1) as f64;
    let (ranks, cause) = words::ranks(facts.stragglers.iter().map(|(rank, _)| *rank), "cause");
    let evidence = vec![
        format!("{ranks} {cause} {} of all waiting", words::ratio(share)),
        format!("{} wait {} for each other", words::counted(facts.ranks, "rank"), words::ns(facts.wait_ns as f64)),
    ];
    Some(Found { severity: Severity::High, at_stake_ns: Some(per_rank(caused_ns) as f64 / steps_of_a_rank), evidence })
}
