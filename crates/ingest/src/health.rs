//! Trace health (metrics, section 17): how far the figures of a source can be trusted.

use std::collections::BTreeMap;

use stepscope_model::Kind;
use stepscope_model::args::SpanArgColumn;
use stepscope_model::null_reason::NO_DEVICE_EVENTS;

use crate::args::find_cell;
use crate::collect::Records;
use crate::derived::{Derived, Link};
use crate::link::LinkCounts;
use crate::record::{CellValue, Span};
use crate::steps::Steps;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figure {
    Count(i64),
    Ratio(f64),
    Word(String),
    Missing(&'static str),
}

/// What health is worked out from.
pub(crate) struct Facts<'a> {
    pub records: &'a Records,
    pub derived: &'a [Derived],
    pub steps: &'a Steps,
    pub links: LinkCounts,
    pub crossing: u64,
    pub notes: &'a [String],
}

/// Time and number of some device events.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    events: i64,
    time_ns: i64,
}

impl Tally {
    fn of<'a>(spans: impl Iterator<Item = &'a Span>) -> Self {
        spans.fold(Self::default(), |tally, span| Self {
            events: tally.events + 1,
            time_ns: tally.time_ns.saturating_add(span.dur()),
        })
    }
}

/// The figures, by name; a dot leads into a group.
pub(crate) fn figures(facts: &Facts<'_>) -> BTreeMap<String, Figure> {
    let Facts { records, derived, steps, .. } = facts;
    let device = || records.spans.iter().zip(derived.iter()).filter(|(span, _)| span.kind.is_device());
    let tally = |keeps: &dyn Fn(&Derived) -> bool| {
        Tally::of(device().filter(|(_, derived)| keeps(derived)).map(|(span, _)| span))
    };
    let all = tally(&|_| true);
    let with_operator = tally(&|derived| derived.operator.is_some());
    let with_span = tally(&|derived| derived.owner.is_some());
    let unlinked = tally(&|derived| derived.launch.is_none());
    let graph = tally(&|derived| derived.graph_launch.is_some());
    let explained = tally(&|derived| derived.operator.is_some() || derived.graph_launch.is_some());
    let overlaps = same_stream_overlaps(records);
    let dropped = |code: &str| Figure::Count(records.counts.dropped.get(code).copied().unwrap_or(0) as i64);
    let share = |part: Tally| ratio(part.time_ns, all.time_ns);
    let mut figures = BTreeMap::new();
    let mut put = |name: &str, figure: Figure| {
        figures.insert(name.to_owned(), figure);
    };
    put("dropped_bad_time", dropped("bad_time"));
    put("dropped_negative_duration", dropped("negative_duration"));
    put("lost_events", Figure::Count(records.counts.lost() as i64));
    put("crossing_spans", Figure::Count(facts.crossing as i64));
    put("overlapping_steps", Figure::Count(steps.overlapping as i64));
    put("external_id_and_nesting_disagree", Figure::Count(facts.links.disagreements as i64));
    put("runtime_correlation_shared", Figure::Count(facts.links.shared_correlations as i64));
    put("device_longer_than_trace", device_longer_than_trace(records));
    put("device_events", Figure::Count(all.events));
    put("device_time_ns", Figure::Count(all.time_ns));
    for link in Link::ALL {
        let linked = tally(&|derived| derived.link == Some(link));
        if linked.events > 0 {
            put(&format!("device_links.{}", link.as_text()), Figure::Count(linked.events));
        }
    }
    put("device_time_with_operator_ns", Figure::Count(with_operator.time_ns));
    put("device_time_with_span_ns", Figure::Count(with_span.time_ns));
    put("operator_coverage_ratio", share(with_operator));
    put("span_coverage_ratio", share(with_span));
    put("unlinked_device_events", Figure::Count(unlinked.events));
    put("unlinked_device_time_ns", Figure::Count(unlinked.time_ns));
    put("graph_device_events", Figure::Count(graph.events));
    put("graph_device_time_ns", Figure::Count(graph.time_ns));
    put("same_stream_overlaps", Figure::Count(overlaps.events));
    put("same_stream_overlap_time_ns", Figure::Count(overlaps.time_ns));
    put("device_before_launch", Figure::Count(device_before_launch(records, derived)));
    put("step_source", Figure::Word(steps.source.to_owned()));
    put("steps", Figure::Count(steps.list.len() as i64));
    put("incomplete_steps", Figure::Count(steps.list.iter().filter(|step| !step.is_complete).count() as i64));
    for (code, count) in records.counts.dropped.iter().filter(|(code, _)| stepscope_model::warning::is_loss(code)) {
        put(&format!("lost.{code}"), Figure::Count(*count as i64));
    }
    for (code, count) in &records.counts.warnings {
        put(&format!("warnings.{code}"), Figure::Count(*count as i64));
    }
    put("grade", Figure::Word(grade(facts, &explained, &all).to_owned()));
    figures
}

fn ratio(part: i64, whole: i64) -> Figure {
    if whole == 0 { Figure::Missing(NO_DEVICE_EVENTS) } else { Figure::Ratio(part as f64 / whole as f64) }
}

/// *good* when nothing was lost and at least 95 % of device time is explained, *poor* below 50 % or when the file was
/// cut, else *partial*.
fn grade(facts: &Facts<'_>, explained: &Tally, all: &Tally) -> &'static str {
    let is_cut = facts.notes.iter().any(|note| note != "bare_array" && note != "invalid_utf8");
    let explains = |percent: i128| i128::from(explained.time_ns) * 100 >= i128::from(all.time_ns) * percent;
    if is_cut || !explains(50) {
        "poor"
    } else if facts.records.counts.lost() > 0 || !explains(95) {
        "partial"
    } else {
        "good"
    }
}

/// Events that start before another of their stream has ended, and the time they share.
fn same_stream_overlaps(records: &Records) -> Tally {
    type Stream = (Option<i64>, Option<i64>);
    let mut streams: BTreeMap<Stream, Vec<(i64, i64)>> = BTreeMap::new();
    for span in records.spans.iter().filter(|span| span.kind.is_device()) {
        let id = |column| match find_cell(records.cells_of(span.args), column) {
            Some(CellValue::Int(id)) => Some(id),
            _ => None,
        };
        let key = (id(SpanArgColumn::device_id), id(SpanArgColumn::stream_id));
        streams.entry(key).or_default().push((span.start, span.end));
    }
    let mut overlaps = Tally::default();
    for intervals in streams.values_mut() {
        intervals.sort_unstable();
        let mut last_end: Option<i64> = None;
        for &(start, end) in &*intervals {
            if let Some(last_end) = last_end.filter(|&last_end| start < last_end) {
                overlaps.events += 1;
                overlaps.time_ns = overlaps.time_ns.saturating_add(end.min(last_end) - start);
            }
            last_end = Some(last_end.map_or(end, |last_end| last_end.max(end)));
        }
    }
    overlaps
}

/// Device events longer than the whole host side: a sign of a counter that overflowed.
fn device_longer_than_trace(records: &Records) -> Figure {
    let complete = || records.spans.iter().filter(|span| span.is_complete_event());
    let on_host = |kind| matches!(kind, Kind::Op | Kind::Annotation | Kind::Runtime | Kind::Python | Kind::Window);
    let first = complete().map(|span| span.start).min();
    let last = complete().filter(|span| on_host(span.kind)).map(|span| span.end).max();
    let (Some(first), Some(last)) = (first, last) else { return Figure::Missing("no host events") };
    Figure::Count(complete().filter(|span| span.kind.is_device() && span.dur() > last - first).count() as i64)
}

/// Launches whose earliest device event starts before the call: the two clocks disagree.
fn device_before_launch(records: &Records, derived: &[Derived]) -> i64 {
    let mut earliest: BTreeMap<u32, i64> = BTreeMap::new();
    for (span, derived) in records.spans.iter().zip(derived) {
        if let Some(launch) = derived.launch {
            let start = earliest.entry(launch).or_insert(span.start);
            *start = (*start).min(span.start);
        }
    }
    earliest.iter().filter(|&(&launch, &start)| start < records.spans[launch as usize].start).count() as i64
}
