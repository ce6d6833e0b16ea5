//! Code is compiled, or loaded, while the loop runs.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Part, Remedy, Rule, Vendor, Weight};

pub(super) static RULE: Rule = Rule {
    name: "recompilation",
    label: "Compiling in the loop",
    what: "`torch.compile` or XLA compiles, or the runtime loads a module, after the second step of the trace.",
    why: "Compiling takes seconds and loading milliseconds, in which the device gets no work.",
    thresholds: &[],
    weight: Weight::Saving(Remedy::Remove(Part::Compiling)),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "# TORCH_LOGS=recompiles shows why: torch._dynamo.mark_dynamic(x, 0), or pad inputs to a few sizes",
            when: &[Need::Uses(Framework::Compile)],
        },
        Fix { code: "# run every shape once before the loop", when: &[] },
        Fix {
            code: "# pad inputs to a few shapes, and run each once before the loop\n# keep what a compiled function closes over: jax.jit and tf.function compile again for a new one",
            when: &[Need::Uses(Framework::Xla)],
        },
        Fix { code: "# CUDA_MODULE_LOADING=EAGER loads modules at the start", when: &[Need::Of(Vendor::Nvidia)] },
    ],
    not_this: "if the trace begins while the program still warms up",
    show: &[Target::of("steps"), Target::of("launches")],
    instances: Instances::all(
        "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans
           WHERE {events} AND (name LIKE '%dynamo_timed%' OR name LIKE '%ModuleLoad%' OR name LIKE '%LibraryLoad%'
             OR name LIKE '%backend_compile%' OR name LIKE '%::Compile%')",
    ),
    find,
};

fn find(facts: &Facts, _: &Limits<'_>) -> Option<Found> {
    let window = facts.window.as_ref()?.after_warm_up();
    let compiles = window.sum(|step| step.compiles as i64);
    if compiles == 0 {
        return None;
    }
    let steps = window.steps.iter().filter(|step| step.compiles > 0).count();
    let compile_ns = window.per_step(|step| step.compile_ns);
    let title = say!(
        "Code is compiled or loaded in {} of {} steps",
        say::count(steps as i64),
        say::count(window.steps.len() as i64)
    );
    let evidence =
        vec![say!("{}, {} per step on average", say::counted(compiles as usize, "time"), say::ns(compile_ns))];
    let figures = vec![
        ("steps", steps as f64),
        ("of_steps", window.steps.len() as f64),
        ("compiles", compiles as f64),
        ("compile_ns", compile_ns),
    ];
    Some(Found { title, at_stake_ns: Some(compile_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::WindowStep;
    use crate::thresholds::{NOTHING, at, check, figure, replayed};

    #[test]
    fn compiling_after_the_second_step_counts() {
        let compiles_in = |compiling: usize| {
            replayed(10, move |place| WindowStep {
                is_warm: place >= 2,
                compiles: usize::from(place == compiling),
                compile_ns: if place == compiling { 80_000 } else { 0 },
                ..WindowStep::default()
            })
        };
        check(&RULE, &compiles_in(2), at(10_000.0));
        check(&RULE, &compiles_in(9), at(10_000.0));
        assert_eq!(figure(&RULE, &compiles_in(9), "steps"), Some(1.0));
        // False alarms: warm-up, and nothing at all.
        check(&RULE, &compiles_in(1), NOTHING);
        check(&RULE, &compiles_in(10), NOTHING);
    }
}
