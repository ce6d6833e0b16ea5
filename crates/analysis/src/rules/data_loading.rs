//! The step waits for the data loader.

use stepscope_model::{Class, Severity};

use super::{Facts, Found, Rule};
use crate::words;

/// A smaller share is not worth a word.
const SHARE: f64 = 0.05;
const HIGH_SHARE: f64 = 0.15;

pub(super) static RULE: Rule = Rule {
    name: "data_loading",
    title: "The step waits for the DataLoader",
    what: "More than 5 % of the step time passes inside `enumerate(DataLoader)` while nothing runs on a device.",
    why: "The next batch is not ready when the step needs it, so it idles until the host has built it.",
    fix: "DataLoader(dataset, batch_size=…, num_workers=4,\n           pin_memory=True, persistent_workers=True)",
    not_this: "if the data already lies in memory, or loading is what you measure",
    show: "stepscope steps",
    find,
};

fn find(facts: &Facts) -> Option<Found> {
    let loading_ns = facts.of(Class::Dataloader);
    let share = facts.share(loading_ns);
    if share <= SHARE {
        return None;
    }
    let mut evidence = Vec::new();
    let is_single = facts.loaders.keys().any(|name| name.contains("_SingleProcessDataLoaderIter"));
    let workers = if is_single { "num_workers=0; " } else { "" };
    evidence.push(format!("{workers}loading is {} of every step", words::ratio(share)));
    if let Some((least, most)) = facts.loading_range_ns.filter(|(least, most)| least < most) {
        evidence.push(format!("{} – {} a step", words::ns(least as f64), words::ns(most as f64)));
    }
    for (name, calls) in facts.loaders.iter().take(2) {
        evidence.push(format!("{name}: {} calls", words::count(*calls)));
    }
    let severity = if share > HIGH_SHARE { Severity::High } else { Severity::Medium };
    Some(Found { severity, at_stake_ns: Some(facts.per_step(loading_ns)), evidence })
}
