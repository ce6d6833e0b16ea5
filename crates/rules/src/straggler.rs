//! Some ranks make the others wait.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Need, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold =
    Threshold { name: "wait_ratio", value: 0.02, meaning: "ranks wait above this share of the step time" };
const EXPOSED: Threshold = Threshold {
    name: "exposed_ratio",
    value: 0.01,
    meaning: "ranks wait with nothing to compute above this share of the step time",
};
const SHARED_BLAME: Threshold = Threshold {
    name: "shared_ratio",
    value: 0.10,
    meaning: "the same where no rank causes clearly more of it than the others",
};

pub(super) static RULE: Rule = Rule {
    name: "straggler",
    label: "Ranks wait for each other",
    what: "Ranks wait in collectives with nothing to compute, and a rank that arrives last causes clearly more of the wait than its share.",
    why: "A collective ends when the last rank has arrived; until then every other rank idles inside it.",
    thresholds: &[SHARE, EXPOSED, SHARED_BLAME],
    weight: Weight::Saving(Remedy::EqualRanks),
    explained_by: Causes::These(&["slow_link", "data_loading", "too_few_workers", "recompilation", "host_pause"]),
    fixes: &[
        Fix { code: "# compare that rank with the others: its input, its GPU clocks, its host", when: &[Need::Device] },
        Fix { code: "# compare that rank with the others: its input, its host", when: &[Need::HostOnly] },
    ],
    not_this: "if ranks have different work by design, as in pipelines, or the order of ranks is not what you expect",
    show: &[Target::of("comms"), Target::of("steps").grouped_by("rank")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let waits = facts.waits.as_ref()?;
    let exposed_share = facts.share(waits.exposed_ns);
    let per_step = |ns: i64| say::ns(facts.per_step(ns));
    let all = say!(
        "{} wait {} per step on average, {} of it exposed",
        say::counted(facts.ranks, "rank"),
        per_step(waits.wait_ns),
        per_step(waits.exposed_ns)
    );
    let mut figures = vec![
        ("ranks", facts.ranks as f64),
        ("wait_ns", facts.per_step(waits.wait_ns)),
        ("exposed_wait_ns", facts.per_step(waits.exposed_ns)),
    ];
    if waits.stragglers.is_empty() {
        let title = say!("Ranks wait {} per step for each other", per_step(waits.exposed_ns));
        let evidence = vec!["no rank causes much more of it than the others".into(), all];
        let at_stake_ns = Some(facts.per_step(waits.exposed_ns));
        let found = Found { title, at_stake_ns, evidence, figures };
        return (exposed_share > limits.of(&SHARED_BLAME)).then_some(found);
    }
    if facts.share(waits.wait_ns) <= limits.of(&SHARE) || exposed_share <= limits.of(&EXPOSED) {
        return None;
    }
    let caused_ns: i64 = waits.stragglers.iter().map(|(_, caused_ns)| caused_ns).sum();
    let (ranks, cause) = say::ranks(waits.stragglers.iter().map(|(rank, _)| *rank), "cause");
    // A step ends when the last rank is done: at stake is what the ranks that wait could save, not a mean over all.
    let at_stake_ns = waits.exposed_caused_ns as f64 / waits.waiting_steps.max(1) as f64;
    let at_stake_ns = at_stake_ns.min(facts.per_step(facts.step_ns));
    let title = say!("Ranks wait {} per step for {}", say::ns(at_stake_ns), &ranks);
    let share = caused_ns as f64 / waits.wait_ns.max(1) as f64;
    let evidence = vec![say!("{} {} {} of all waiting", ranks, cause, say::ratio(share)), all];
    figures.push(("caused_ratio", share));
    figures.extend(waits.stragglers.iter().map(|(rank, _)| ("rank", *rank as f64)));
    Some(Found { title, at_stake_ns: Some(at_stake_ns), evidence, figures })
}
