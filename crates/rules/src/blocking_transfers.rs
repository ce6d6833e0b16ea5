//! The host waits for copies to the device that it need not wait for.

use stepscope_model::{Sentence, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, Threshold, Weight};

const PER_STEP: Threshold = Threshold {
    name: "copies_per_step",
    value: 1.0,
    meaning: "calls that waited for a copy: this many per step or more",
};

pub(super) static RULE: Rule = Rule {
    name: "blocking_transfers",
    label: "The host waits for copies",
    what: "At least {copies_per_step} calls per step wait for a copy from pinned memory to the device.",
    why: "A copy from pinned memory runs beside the host. A call that waits for it gives that away.",
    thresholds: &[PER_STEP],
    weight: Weight::Saving(Remedy::AsyncCopies),
    explained_by: Causes::None,
    fixes: &[Fix { code: "batch = batch.to(device, non_blocking=True)", when: &[] }],
    not_this: "if the next operator on the host needs the copy at once",
    show: &[Target::of("transfers")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events
           WHERE {events} AND kind = 'memcpy' AND name LIKE '%HtoD%' AND name NOT LIKE '%Pageable%'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let least = limits.of(&PER_STEP);
    if !window.is_in(limits.steps(), |step| step.blocking_copies > 0 && step.blocking_copies as f64 >= least) {
        return None;
    }
    let per_step = window.per_step(|step| step.blocking_copies as i64);
    let wait_ns = window.per_step(|step| step.blocking_copy_ns);
    let title = say!("The host waits for {} to the device per step", copies(per_step));
    let evidence = vec![say!("these calls take {} per step", say::ns(wait_ns))];
    let figures = vec![("copies_per_step", per_step), ("wait_ns", wait_ns)];
    Some(Found { title, at_stake_ns: Some(wait_ns), evidence, figures })
}

/// How many, as a whole number.
fn copies(per_step: f64) -> Sentence {
    say::counted(per_step.round().max(1.0) as usize, "copy")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn one_copy_per_step_that_is_waited_for_is_enough() {
        let copies = |blocking_copies: usize, steps: usize| {
            replayed(10, move |place| {
                let step = WindowStep { blocking_copies, blocking_copy_ns: 8_000, ..WindowStep::default() };
                if place < steps { step } else { WindowStep::default() }
            })
        };
        check(&RULE, &copies(1, 10), at(8_000.0));
        check(&RULE, &copies(1, 5), at(4_000.0));
        check(&RULE, &copies(3, 4), NOTHING);
        // The false alarm: copies that nothing waits for.
        check(&RULE, &copies(0, 10), NOTHING);
    }
}
