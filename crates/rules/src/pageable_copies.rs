//! Copies from memory that the system may move.

use stepscope_model::{Rounding, Severity, Target, say};

use super::{Facts, Fix, Found, Framework, Instances, Need, Rule};

pub(super) static RULE: Rule = Rule {
    name: "pageable_copies",
    label: "Copies use pageable memory",
    what: "Copies between host and device use pageable memory, and kernels hide less than half of their time.",
    why: "Pageable memory is first copied to a pinned buffer; the copy is slower and the call waits for it.",
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

/// Less time per step is not worth a word.
const LEAST_NS: f64 = 50_000.0;

fn find(facts: &Facts) -> Option<Found> {
    let copies = facts.pageable;
    let exposed_ns = copies.time_ns - copies.hidden_ns;
    if copies.count == 0 || facts.per_step(exposed_ns) < LEAST_NS || exposed_ns * 2 < copies.time_ns {
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
    let severity = if facts.share(exposed_ns) > 0.05 { Severity::Medium } else { Severity::Low };
    Some(Found { title, severity, at_stake_ns: Some(facts.per_step(exposed_ns)), evidence, figures })
}
