//! Copies from memory that the system may move.

use stepscope_model::{Rounding, Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Remedy, Rule, Threshold, Weight};

const LEAST: Threshold =
    Threshold { name: "exposed_ns", value: 50_000.0, meaning: "copies exposed for this time per step or more" };
const SHARE: Threshold = Threshold {
    name: "exposed_ratio",
    value: 0.50,
    meaning: "this share of the time of the copies, or more, is exposed",
};

pub(super) static RULE: Rule = Rule {
    name: "pageable_copies",
    label: "Copies use pageable memory",
    what: "Copies between host and device use pageable memory. At least {exposed_ns} per step, and {exposed_ratio} of their time, no kernel runs meanwhile.",
    why: "Pageable memory is first copied to a pinned buffer; the copy is slower and the call waits for it.",
    thresholds: &[LEAST, SHARE],
    weight: Weight::Saving(Remedy::PinnedCopies),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "DataLoader(…, pin_memory=True)", when: &[Need::Uses(Framework::LoaderInProcess)] },
        Fix { code: "DataLoader(…, pin_memory=True)", when: &[Need::Uses(Framework::LoaderWithWorkers)] },
        Fix {
            code: "batch = batch.pin_memory()",
            when: &[Need::Without(Framework::LoaderInProcess), Need::Without(Framework::LoaderWithWorkers)],
        },
        Fix { code: "batch = batch.to(device, non_blocking=True)", when: &[] },
    ],
    not_this: "if the copies are few and small, or happen outside the loop",
    show: &[Target::of("transfers")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events
           WHERE {events} AND kind = 'memcpy' AND name LIKE '%Pageable%'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let copies = facts.pageable;
    let exposed_ns = copies.time_ns - copies.hidden_ns;
    let is_exposed = exposed_ns as f64 >= limits.of(&SHARE) * copies.time_ns as f64;
    if copies.count == 0 || facts.per_step(exposed_ns) < limits.of(&LEAST) || !is_exposed {
        return None;
    }
    let title = say!("Pageable copies are exposed for {} per step", say::ns(facts.per_step(exposed_ns)));
    let speed = copies.size_bytes as f64 / copies.sum_ns.max(1) as f64;
    let hidden_ratio = copies.hidden_ns as f64 / copies.time_ns.max(1) as f64;
    let hidden = if copies.hidden_ns == 0 { "none hidden".into() } else { say!("{} hidden", say::ratio(hidden_ratio)) };
    let figures = vec![
        ("copies", copies.count as f64),
        ("moved_bytes", copies.size_bytes as f64),
        ("gb_per_s", speed),
        ("hidden_ratio", hidden_ratio),
    ];
    let (count, moved) = (say::counted(copies.count as usize, "copy"), say::moved(copies.size_bytes as f64));
    let evidence = vec![say!("{}, {} at {}, {}", count, moved, say::gb_per_s(speed).rounded(Rounding::Tenths), hidden)];
    Some(Found { title, at_stake_ns: Some(facts.per_step(exposed_ns)), evidence, figures })
}
