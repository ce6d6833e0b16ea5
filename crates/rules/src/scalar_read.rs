//! A value of the device is read on the host while the step goes on.

use stepscope_model::{Sentence, Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, Threshold, WaitingCalls, Weight};

const PER_STEP: Threshold = Threshold {
    name: "reads_per_step",
    value: 1.0,
    meaning: "reads that waited for the device: this many per step or more",
};

pub(super) static RULE: Rule = Rule {
    name: "scalar_read",
    label: "Values are read on the host",
    what: "`aten::item`, `aten::_local_scalar_dense` or `aten::nonzero` waits for the device, in at least {reads_per_step} of their calls per step.",
    why: "The host needs a value that the device has not computed yet. Until it has it, the host launches nothing.",
    thresholds: &[PER_STEP],
    weight: Weight::Saving(Remedy::NoSync(WaitingCalls::ScalarReads)),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# keep the value on the device: loss.detach() instead of loss.item(), torch.where instead of a mask\n# read it every n-th step, or one step later",
        when: &[],
    }],
    not_this: "if control flow needs the value at once",
    show: &[Target::of("ops")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans
           WHERE {events} AND name IN ('aten::item', 'aten::_local_scalar_dense', 'aten::nonzero')",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let least = limits.of(&PER_STEP);
    if !window.is_in(limits.steps(), |step| step.scalar_reads > 0 && step.scalar_reads as f64 >= least) {
        return None;
    }
    let per_step = window.per_step(|step| step.scalar_reads as i64);
    let wait_ns = window.per_step(|step| step.scalar_read_ns);
    let title = say!("The host reads values of the device {} per step", times(per_step));
    let evidence = vec![say!("these reads wait {} per step", say::ns(wait_ns))];
    let figures = vec![("reads_per_step", per_step), ("wait_ns", wait_ns)];
    Some(Found { title, at_stake_ns: Some(wait_ns), evidence, figures })
}

/// How often, as a whole number.
fn times(per_step: f64) -> Sentence {
    say::counted(per_step.round().max(1.0) as usize, "time")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn one_read_per_step_that_waits_is_enough() {
        let reads = |scalar_reads: usize, steps: usize| {
            replayed(10, move |place| {
                let step = WindowStep { scalar_reads, scalar_read_ns: 5_000, ..WindowStep::default() };
                if place < steps { step } else { WindowStep::default() }
            })
        };
        check(&RULE, &reads(1, 10), at(5_000.0));
        check(&RULE, &reads(1, 5), at(2_500.0));
        check(&RULE, &reads(9, 4), NOTHING);
        // The false alarm: reads that did not wait are not counted.
        check(&RULE, &reads(0, 10), NOTHING);
    }
}
