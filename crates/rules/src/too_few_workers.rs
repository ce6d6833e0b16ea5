//! Workers load too slowly for the steps: some batches are ready, the others are waited for.

use stepscope_model::{Class, Target, say};

use super::{
    Causes, Facts, Fix, Found, Framework, Instances, Limits, Remedy, Rule, Threshold, Thresholds, Weight, WindowStep,
};

const SHARE: Threshold =
    Threshold { name: "share_ratio", value: 0.03, meaning: "data loading above this share of the critical path" };
const STEPS: Threshold =
    Threshold { name: "steps_ratio", value: 0.25, meaning: "it must be in this share of the steps" };
const FAST: Threshold = Threshold {
    name: "fast_steps_ratio",
    value: 0.45,
    meaning: "this share of the steps after the first that waits, or more, wait less than half as long as their mean",
};

pub(super) static RULE: Rule = Rule {
    name: "too_few_workers",
    label: "Too few DataLoader workers",
    what: "A DataLoader with workers is more than {share_ratio} of the critical path of a rank, in at least {steps_ratio} of its steps, and at least {fast_steps_ratio} of the steps after the first that waits wait less than half as long as their mean.",
    why: "Batches arrive in bursts: each worker delivers one, and then all of them are busy with the next.",
    thresholds: &[SHARE, STEPS, FAST],
    weight: Weight::Saving(Remedy::InputReady),
    explained_by: Causes::None,
    fixes: &[Fix {
        code: "DataLoader(…, num_workers=…, prefetch_factor=4)   # more of them, up to the cores of the host",
        when: &[],
    }],
    not_this: "if storage is the limit: more workers then wait together",
    show: &[Target::of("steps")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans
           WHERE {events} AND kind = 'ann' AND name LIKE 'enumerate(Data%'",
    ),
    find,
};

/// Whether the rule speaks, so that the one about data loading in general need not.
pub(super) fn is_found(facts: &Facts, thresholds: &Thresholds) -> bool {
    find(facts, &thresholds.of(&RULE)).is_some()
}

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref().filter(|_| facts.frameworks.contains(&Framework::LoaderWithWorkers))?;
    let on_path = window.rank_with_most(|step| step.loader_ns);
    let share = on_path.share(|step| step.loader_ns);
    let is_usual = on_path.is_in(limits.of(&STEPS), |step| step.loader_ns > 0);
    let waits =
        window.by_rank().filter(|steps| !steps.iter().any(lets_workers_catch_up)).flat_map(after_the_first_wait);
    let waits: Vec<i64> = waits.collect();
    let mean_ns = waits.iter().sum::<i64>() as f64 / waits.len().max(1) as f64;
    let fast = waits.iter().filter(|wait_ns| (**wait_ns * 2) as f64 <= mean_ns).count();
    let fast_ratio = fast as f64 / waits.len().max(1) as f64;
    if share <= limits.of(&SHARE) || !is_usual || fast_ratio < limits.of(&FAST) {
        return None;
    }
    let title = "DataLoader workers deliver batches in bursts".into();
    let evidence = vec![
        say!("loading is {} of the critical path", say::ratio(share)),
        say!("{} of the steps wait less than half of the mean, {}", say::ratio(fast_ratio), say::ns(mean_ns)),
    ];
    let figures = vec![("share_ratio", share), ("fast_steps_ratio", fast_ratio), ("mean_ns", mean_ns)];
    Some(Found { title, at_stake_ns: Some(facts.per_step(facts.of(Class::Dataloader))), evidence, figures })
}

/// Whether the script does something else for so long that batches pile up: then waits say nothing about workers.
fn lets_workers_catch_up(step: &WindowStep) -> bool {
    step.pauses > 0 || step.compiles > 0
}

/// How long the steps of a rank wait. The first batches may have been loaded in advance: these do not count.
fn after_the_first_wait(steps: &[WindowStep]) -> impl Iterator<Item = i64> {
    let longest_ns = steps.iter().map(|step| step.loader_wait_ns).max().unwrap_or(0);
    steps.iter().map(|step| step.loader_wait_ns).skip_while(move |wait_ns| wait_ns * 20 < longest_ns)
}

#[cfg(test)]
mod tests {
    use stepscope_model::Class;

    use super::{Framework, RULE};
    use crate::data_loading;
    use crate::thresholds::{NOTHING, at, check, replayed, with_class};
    use crate::{Facts, WindowStep};

    /// Eight steps that wait for workers, some of them briefly.
    fn waits(long_ns: i64, short_ns: i64, fast: usize, framework: Framework) -> Facts {
        let loader_ns = move |place: usize| if (1..=fast).contains(&place) { short_ns } else { long_ns };
        let step = |loader_ns| WindowStep { loader_ns, loader_wait_ns: loader_ns, ..WindowStep::default() };
        let window = replayed(8, |place| step(loader_ns(place))).window;
        Facts { window, frameworks: [framework].into(), ..with_class(Class::Dataloader, 600_000) }
    }

    /// Eight steps; `fast` of them, after the first, wait briefly.
    #[test]
    fn some_steps_wait_and_others_do_not() {
        let workers = Framework::LoaderWithWorkers;
        // Half of the mean is still fast.
        check(&RULE, &waits(120_000, 40_000, 4, workers), at(60_000.0));
        check(&RULE, &waits(120_000, 40_001, 4, workers), NOTHING);
        check(&RULE, &waits(120_000, 0, 3, workers), NOTHING);
        // Most steps do not wait at all.
        check(&RULE, &waits(500_000, 0, 5, workers), at(60_000.0));
        // Exactly that share of the path, and more.
        check(&RULE, &waits(60_000, 0, 4, workers), NOTHING);
        check(&RULE, &waits(60_002, 0, 4, workers), at(60_000.0));
        // A quarter of the steps waits, and less.
        check(&RULE, &waits(500_000, 0, 6, workers), at(60_000.0));
        check(&RULE, &waits(900_000, 0, 7, workers), NOTHING);
        // False alarms: the main process loads; and all steps wait once what was loaded in advance is used up.
        check(&RULE, &waits(200_000, 0, 4, Framework::LoaderInProcess), NOTHING);
        let mut in_advance = waits(200_000, 0, 4, workers);
        let steps = &mut in_advance.window.as_mut().unwrap().steps;
        steps.sort_by_key(|step| step.loader_ns);
        check(&RULE, &in_advance, NOTHING);
        // Batches pile up while the script pauses, or compiles.
        for busy in
            [WindowStep { pauses: 1, ..WindowStep::default() }, WindowStep { compiles: 1, ..WindowStep::default() }]
        {
            let mut caught_up = waits(120_000, 40_000, 4, workers);
            let step = &mut caught_up.window.as_mut().unwrap().steps[2];
            (step.pauses, step.compiles) = (busy.pauses, busy.compiles);
            check(&RULE, &caught_up, NOTHING);
            check(&data_loading::RULE, &caught_up, at(60_000.0));
        }
    }

    #[test]
    fn it_takes_the_place_of_what_is_less_exact() {
        let workers = Framework::LoaderWithWorkers;
        check(&data_loading::RULE, &waits(200_000, 0, 4, workers), NOTHING);
        check(&data_loading::RULE, &waits(200_000, 0, 3, workers), at(60_000.0));
    }
}
