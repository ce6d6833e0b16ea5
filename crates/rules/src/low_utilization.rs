//! The device idles for much of the step.

use stepscope_model::{Class, Severity, Target, say};

use super::{Causes, Facts, Fix, Found, Framework, Instances, Limits, Need, Rule, Threshold, Weight};

const UTILIZATION: Threshold = Threshold {
    name: "utilization_ratio",
    value: 0.50,
    meaning: "a kernel runs in less than this share of the step time",
};

/// The classes in which nothing runs on the device.
const IDLE: [Class; 4] = [Class::Runtime, Class::CpuExec, Class::Other, Class::Dataloader];

pub(super) static RULE: Rule = Rule {
    name: "low_utilization",
    label: "Low GPU utilization",
    what: "A kernel runs in less than {utilization_ratio} of the step time.",
    why: "The host does not launch work fast enough: small batches, Python between operators, waiting for data.",
    thresholds: &[UTILIZATION],
    weight: Weight::Fixed(Severity::Medium),
    explained_by: Causes::Any,
    fixes: &[
        Fix { code: "# more work at a time: a larger batch", when: &[Need::Without(Framework::Serving)] },
        Fix { code: "# more work at a time: serve more requests per batch", when: &[Need::Uses(Framework::Serving)] },
        Fix {
            code: "torch.compile(model)   # fewer, larger kernels",
            when: &[Need::Without(Framework::Compile), Need::Without(Framework::Serving)],
        },
        Fix::COMPILE_THE_STEP,
        Fix { code: "# more work at a time: a larger batch", when: &[Need::Uses(Framework::Xla)] },
    ],
    not_this: "if the device is shared, or latency of single requests is what you optimize",
    show: &[Target::of("steps")],
    // From the latest end before an event to its start nothing runs on the device.
    instances: Instances::all(
        "SELECT NULL AS name, NULL AS span_id, idle_from AS start_ns, start_ns - idle_from AS dur_ns
           FROM (
             SELECT start_ns, max(end_ns) OVER (
               PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
             ) AS idle_from
             FROM device_events WHERE {events}
           )
           WHERE start_ns > idle_from",
    ),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let known_ns = facts.step_ns - facts.before_recording_ns();
    let utilization = facts.kernel_busy_ns as f64 / known_ns.max(1) as f64;
    if facts.device_events == 0 || known_ns == 0 || utilization >= limits.of(&UTILIZATION) {
        return None;
    }
    let idle_ns: i64 = IDLE.iter().map(|class| facts.known_of(*class)).sum();
    let time = if known_ns < facts.step_ns { "time from the first kernel on" } else { "step" };
    let idle = idle_ns as f64 / known_ns as f64;
    let title = say!("The GPU is idle {} of the {}", say::ratio(idle), time);
    let mut figures = vec![("idle_ratio", idle), ("utilization_ratio", utilization)];
    let mut evidence = vec![say!("a kernel runs in {} of the {}", say::ratio(utilization), time)];
    let largest = IDLE.into_iter().max_by_key(|class| facts.known_of(*class))?;
    let largest_ns = facts.known_of(largest);
    if largest_ns > 0 {
        let (of_idle, per_step) = (largest_ns as f64 / idle_ns.max(1) as f64, facts.per_step(largest_ns));
        let what = in_words(largest);
        evidence.push(say!("{} of the idle time is {}: {} per step", say::ratio(of_idle), what, say::ns(per_step)));
        figures.extend([("largest_idle_ratio", of_idle), ("largest_idle_ns", per_step)]);
    }
    // Loading is at stake for a rule of its own.
    let loading_ns = facts.known_of(Class::Dataloader).max(facts.region_loading_ns);
    let at_stake = facts.per_step((idle_ns - loading_ns).max(0));
    Some(Found { title, at_stake_ns: Some(at_stake), evidence, figures })
}

/// What the host does in a class of time.
fn in_words(class: Class) -> &'static str {
    match class {
        Class::Runtime => "runtime calls of the host",
        Class::CpuExec => "operators on the host",
        Class::Dataloader => "data loading",
        _ => "host code outside of operators",
    }
}
