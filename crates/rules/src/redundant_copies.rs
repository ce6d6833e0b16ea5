//! Device time goes to copies of what the device already has.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Part, Remedy, Rule, Threshold, Weight};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.03,
    meaning: "copies on the device, and casts, above this share of the critical path",
};

pub(super) static RULE: Rule = Rule {
    name: "redundant_copies",
    label: "Copies on the device, and casts",
    what: "Copies on the device and kernels of `aten::_to_copy`, `aten::contiguous` and `aten::clone` are more than {share_ratio} of the critical path.",
    why: "A copy reads and writes all of its memory without computing anything.",
    thresholds: &[SHARE],
    weight: Weight::Saving(Remedy::Remove(Part::RedundantCopies)),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "# keep one dtype and one layout through the model: channels_last from the input on, no .contiguous() in the loop\n# cast weights once, not in each step",
        when: &[],
    }],
    not_this: "if a kernel needs the layout or the type that is made",
    show: &[Target::of("ops"), Target::of("transfers")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events} AND category = 'copy'",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?;
    let share = window.share(|step| step.redundant_ns);
    if share <= limits.of(&SHARE) || !window.is_in(limits.steps(), |step| step.redundant_ns > 0) {
        return None;
    }
    let per_step = window.per_step(|step| step.redundant as i64);
    let copy_ns = window.per_step(|step| step.redundant_ns);
    let title = say!("Copies on the device, and casts, are {} of the critical path", say::ratio(share));
    let evidence = vec![say!("{} of them per step", say::whole(per_step))];
    let figures = vec![("share_ratio", share), ("copies_per_step", per_step)];
    Some(Found { title, at_stake_ns: Some(copy_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, replayed};

    #[test]
    fn what_is_on_the_path_counts() {
        let copies = |redundant_ns: i64, steps: usize| {
            replayed(10, move |place| WindowStep {
                redundant: 4,
                redundant_ns: if place < steps { redundant_ns } else { 0 },
                ..WindowStep::default()
            })
        };
        check(&RULE, &copies(30_001, 10), at(30_001.0));
        check(&RULE, &copies(30_000, 10), NOTHING);
        check(&RULE, &copies(400_000, 4), NOTHING);
        // The false alarm: copies that other work hides.
        check(&RULE, &copies(0, 10), NOTHING);
    }
}
