//! How busy the devices are, apart from a stretch in which they worked on what was launched before the recording.

use stepscope_model::{Cell, Metric, Part, Role, Text, Unit, say};
use stepscope_rules::Facts;

/// Figures for programs, and a line for people where there is such a stretch.
pub(super) fn parts(facts: &Facts) -> Vec<Part> {
    let before_ns = facts.before_recording_ns();
    let known_ns = facts.step_ns - before_ns;
    if facts.device_events == 0 || known_ns <= 0 {
        return Vec::new();
    }
    let [usual, known] = [facts.step_ns, known_ns].map(|time_ns| facts.kernel_busy_ns as f64 / time_ns as f64);
    let mut parts = Vec::new();
    if before_ns > 0 {
        let text = say!(
            "a kernel runs in {} of the step; from the first kernel on in {}",
            say::ratio(usual),
            say::ratio(known)
        );
        parts.push(Part::Text(Text::labeled(Role::Utilization, vec![text])));
    }
    let figures = [
        ("busy_before_recording_ns", facts.per_step(before_ns), Unit::Nanoseconds),
        ("utilization_from_first_kernel_ratio", known, Unit::Ratio),
    ];
    parts.extend(figures.map(|(name, value, unit)| {
        let (name, value) = (name.to_owned(), Cell::Float(value));
        Part::Metric(Metric { name, value, unit, reason: None, is_for_programs: true })
    }));
    parts
}
