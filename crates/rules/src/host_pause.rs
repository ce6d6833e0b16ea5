//! The script does nothing for long, now and then.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Part, Remedy, Rule, Threshold, Weight};

const PAUSES: Threshold = Threshold { name: "pauses", value: 2.0, meaning: "this many in the replayed steps, or more" };

pub(super) static RULE: Rule = Rule {
    name: "host_pause",
    label: "Pauses of the host",
    what: "The host takes 1 ms or more, and 10 times as long as usual, between the same two points of the script, on the critical path; at least {pauses} times.",
    why: "While Python collects garbage, logs, saves or waits for something else, no work is launched.",
    thresholds: &[PAUSES],
    weight: Weight::Saving(Remedy::Remove(Part::Pauses)),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "gc.disable()   # and gc.collect() every so many steps, on all ranks in the same step", when: &[] },
        Fix { code: "# save and log from another thread, and less often", when: &[] },
        Fix { code: "# py-spy dump, or with_stack=True, shows what runs there", when: &[] },
        Fix { code: "# save and log from another thread, and less often", when: &[Need::Uses(Framework::Xla)] },
    ],
    not_this: "if these are evaluations or checkpoints that you want",
    show: &[Target::of("steps"), Target::of("critical")],
    instances: Instances::all(
        "SELECT name, CAST(NULL AS BIGINT) AS span_id, start_ns, dur_ns FROM steps WHERE {events} AND is_complete",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    // A script that waits for gloo is outside of operators too.
    let window = facts.window.as_ref().filter(|_| facts.host_backends.is_empty())?;
    let pauses = window.sum(|step| step.pauses as i64);
    if (pauses as f64) < limits.of(&PAUSES) || pauses == 0 {
        return None;
    }
    let steps = window.steps.iter().filter(|step| step.pauses > 0).count();
    let all_ns = window.sum(|step| step.pause_ns);
    let pause_ns = window.per_step(|step| step.pause_ns);
    let title =
        say!("The script pauses in {} of {} steps", say::count(steps as i64), say::count(window.steps.len() as i64));
    let evidence = vec![say!(
        "{} of {} on average, in no runtime call",
        say::counted(pauses as usize, "pause"),
        say::ns(all_ns as f64 / pauses as f64)
    )];
    let figures = vec![
        ("steps", steps as f64),
        ("of_steps", window.steps.len() as f64),
        ("pauses", pauses as f64),
        ("mean_ns", all_ns as f64 / pauses as f64),
    ];
    Some(Found { title, at_stake_ns: Some(pause_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::{Facts, RULE};
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, figure, replayed};

    #[test]
    fn two_pauses_are_enough() {
        let paused_in = |steps: usize| {
            replayed(10, move |place| WindowStep {
                pauses: usize::from(place < steps),
                pause_ns: if place < steps { 100_000 } else { 0 },
                ..WindowStep::default()
            })
        };
        check(&RULE, &paused_in(2), at(20_000.0));
        assert_eq!(figure(&RULE, &paused_in(2), "steps"), Some(2.0));
        check(&RULE, &paused_in(10), at(100_000.0));
        // False alarms: once, by chance; and every step takes that long there, so it is no pause.
        check(&RULE, &paused_in(1), NOTHING);
        check(&RULE, &paused_in(0), NOTHING);
        // Waiting for other ranks on the host.
        let gloo = Facts { host_backends: ["gloo".to_owned()].into(), ..paused_in(10) };
        check(&RULE, &gloo, NOTHING);
    }
}
