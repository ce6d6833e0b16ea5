//! The figures of trace health and what each means (metrics, section 17).

use std::borrow::Cow;

use serde::Serialize;

use crate::warning::WARNING_CODES;

/// How far figures built on a trace can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// As far as the trace goes.
    Good,
    /// With care: some of it is lost or belongs to nothing.
    Partial,
    /// Hardly.
    Poor,
}

impl Grade {
    /// Every grade, the best first.
    pub const ALL: [Self; 3] = [Self::Good, Self::Partial, Self::Poor];

    /// The word in tables and JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Partial => "partial",
            Self::Poor => "poor",
        }
    }

    /// The grade of that word.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grade| grade.as_text() == text)
    }
}

/// The figure that is shown beside those of the table `health`, where it is not 0.
pub const UNANALYZED: &str = "unanalyzed_device_events";

/// Names and meanings of the figures that every source has.
pub static HEALTH_FIGURES: &[(&str, &str)] = &[
    ("grade", "good, partial or poor: how far the metrics of this trace can be trusted"),
    ("lost_events", "events that could not be read or kept"),
    ("dropped_bad_time", "spans and memory events whose time is missing or not a number"),
    ("dropped_negative_duration", "spans that end before they start"),
    ("device_events", "kernels, copies and fills"),
    ("device_time_ns", "sum of their lengths"),
    (UNANALYZED, "events of devices that no analysis reads; the grade is partial at best"),
    ("operator_coverage_ratio", "share of device time that belongs to an operator"),
    ("span_coverage_ratio", "share of device time that belongs to an operator or an annotation"),
    ("device_time_with_operator_ns", "device time that belongs to an operator"),
    ("device_time_with_span_ns", "device time that belongs to an operator or an annotation"),
    ("unlinked_device_events", "device events whose launch was not recorded"),
    ("unlinked_device_time_ns", "device time whose launch was not recorded"),
    ("graph_device_events", "device events that a CUDA or HIP graph launched"),
    ("graph_device_time_ns", "device time that a CUDA or HIP graph launched"),
    ("step_source", "what marks the steps: profiler_step, serving_annotation, optimizer_step, whole_trace or none"),
    ("steps", "number of steps"),
    ("incomplete_steps", "steps whose device work was cut off; averages leave them out"),
    ("overlapping_steps", "steps that start before the previous one ends"),
    ("crossing_spans", "host spans that start inside another and end after it"),
    ("same_stream_overlaps", "device events that start before another one of their stream ends"),
    ("same_stream_overlap_time_ns", "time that such events share"),
    ("device_before_launch", "launches whose device work starts before the call: the clocks disagree"),
    ("device_longer_than_trace", "device events longer than the whole host side: a counter overflowed"),
    ("runtime_correlation_shared", "correlation ids that several calls carry"),
    ("external_id_and_nesting_disagree", "device events that id and nesting give to different operators"),
];

/// A sentence as part of a list: without its capital and its period.
fn as_clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// What a figure means, by its name in the table `health`; a dot leads into a group.
#[must_use]
pub fn meaning(name: &str) -> Option<Cow<'static, str>> {
    if let Some((_, doc)) = HEALTH_FIGURES.iter().find(|(known, _)| *known == name) {
        return Some(Cow::Borrowed(doc));
    }
    let (group, member) = name.split_once('.')?;
    match group {
        "device_links" => Some(match member {
            "external_id" => "device events whose owner was found by id".into(),
            "nesting" => "device events whose owner is the span around their launch".into(),
            "launch_outside_any_span" => "device events launched outside any operator or annotation".into(),
            "no_launch_call" => "device events whose launch was not recorded".into(),
            _ => return None,
        }),
        "lost" | "warnings" => {
            let known = WARNING_CODES.iter().find(|known| member.starts_with(known.code));
            known.map(|known| Cow::Owned(as_clause(known.doc)))
        }
        _ => None,
    }
}
