//! Some steps take much longer than most.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, Threshold, Weight};

const RATIO: Threshold =
    Threshold { name: "spread", value: 1.3, meaning: "the 90th percentile of steps above this multiple of the median" };
const STEPS: Threshold = Threshold { name: "steps", value: 10.0, meaning: "this many complete steps or more" };

pub(super) static RULE: Rule = Rule {
    name: "uneven_steps",
    label: "Uneven steps",
    what: "Of at least {steps} complete steps, one in ten takes more than {spread} times as long as the median step.",
    why: "Something happens in some steps only: a checkpoint, an evaluation, a slow batch, another process.",
    thresholds: &[RATIO, STEPS],
    weight: Weight::Saving(Remedy::EvenSteps),
    explained_by: Causes::These(&[
        "host_pause",
        "recompilation",
        "data_loading",
        "too_few_workers",
        "slow_first_batch",
        "straggler",
    ]),
    fixes: &[Fix { code: "# compare a slow step with a usual one: `stepscope steps`, then `--step N`", when: &[] }],
    not_this: "if steps work on inputs of different sizes",
    show: &[Target::of("steps")],
    instances: Instances::all(
        "SELECT name, CAST(NULL AS BIGINT) AS span_id, start_ns, dur_ns FROM steps WHERE {events} AND is_complete",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let times = facts.step_times?;
    let spread = times.p90_ns as f64 / times.p50_ns.max(1) as f64;
    if (times.count as f64) < limits.of(&STEPS) || spread <= limits.of(&RATIO) {
        return None;
    }
    let title = say!(
        "One step in ten takes {} or more, the median step {}",
        say::ns(times.p90_ns as f64),
        say::ns(times.p50_ns as f64)
    );
    let evidence = vec![say!("the mean of {} steps is {}", say::count(times.count as i64), say::ns(times.mean_ns))];
    let mut figures = vec![("steps", times.count as f64)];
    figures.extend([("p50_ns", times.p50_ns as f64), ("p90_ns", times.p90_ns as f64), ("mean_ns", times.mean_ns)]);
    Some(Found { title, at_stake_ns: Some((times.mean_ns - times.p50_ns as f64).max(0.0)), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, at, check, facts};
    use crate::{Facts, StepTimes};

    #[test]
    fn a_slow_tenth_of_ten_steps_is_uneven() {
        let times = |count: usize, p90_ns: i64| {
            let times = StepTimes { count, p50_ns: 1_000_000, p90_ns, mean_ns: 1_100_000.0 };
            Facts { step_times: Some(times), ..facts() }
        };
        check(&RULE, &times(10, 1_300_001), at(100_000.0));
        check(&RULE, &times(10, 1_300_000), NOTHING);
        // The false alarm: too few steps to tell.
        check(&RULE, &times(9, 9_000_000), NOTHING);
        check(&RULE, &facts(), NOTHING);
    }
}
