//! Trace health (metrics, section 17): how far the figures of a source can be trusted.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_model::args::SpanArgColumn;
use stepscope_model::null_reason::NO_DEVICE_EVENTS;
use stepscope_model::{Grade, Kind, Note, Phase};

use super::evidence::Link;
use super::link::{LinkRow, Links};
use super::steps::Steps;
use super::stream::Span;
use crate::collect::counts::Counts;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figure {
    Count(i64),
    Ratio(f64),
    Word(&'static str),
    Missing(&'static str),
}

row! {
    /// The time of a device event on its stream.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    StreamTime { device: Option<i64>, stream: Option<i64>, start: i64, end: i64, }
}

/// What is seen of the spans for health, as they come.
#[derive(Debug)]
pub(crate) struct HealthInputs {
    streams: Sorter<StreamTime>,
    first_start: Option<i64>,
    last_host_end: Option<i64>,
}

impl HealthInputs {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { streams: Sorter::new(scratch), first_start: None, last_host_end: None }
    }

    /// Takes the next span.
    pub(crate) fn add(&mut self, span: &Span<'_>) -> Result<(), IngestError> {
        let head = &span.record.head;
        if head.phase != Phase::Complete {
            return Ok(());
        }
        let (start, end) = (span.key.start, span.key.end());
        self.first_start = Some(self.first_start.map_or(start, |first| first.min(start)));
        match head.kind {
            Kind::Op | Kind::Annotation | Kind::Runtime | Kind::Python | Kind::Window => {
                self.last_host_end = self.last_host_end.max(Some(end));
                Ok(())
            }
            kind if kind.is_device() => {
                let device = span.record.integer(SpanArgColumn::device_id);
                let stream = span.record.integer(SpanArgColumn::stream_id);
                self.streams.push(StreamTime { device, stream, start, end })
            }
            _ => Ok(()),
        }
    }

    /// The figures, by name; a dot leads into a group.
    pub(crate) fn figures(self, facts: &Facts<'_>) -> Result<BTreeMap<String, Figure>, IngestError> {
        let host_ns = self.last_host_end.zip(self.first_start).map(|(last, first)| last - first);
        let tallies = Tallies::of(facts.links, host_ns)?;
        let overlaps = same_stream_overlaps(self.streams)?;
        Ok(figures(facts, &tallies, overlaps, host_ns.is_some()))
    }
}

/// What health is worked out from.
pub(crate) struct Facts<'a> {
    pub counts: &'a Counts,
    pub links: &'a Links,
    pub steps: &'a Steps,
    pub crossing: u64,
    pub notes: &'a [Note],
}

/// Time and number of some device events.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    events: i64,
    time_ns: i64,
}

impl Tally {
    fn add(&mut self, row: &LinkRow) {
        self.events += 1;
        self.time_ns = self.time_ns.saturating_add(row.end - row.start);
    }
}

/// The device events, by what is known about them.
#[derive(Clone, Copy, Debug, Default)]
struct Tallies {
    all: Tally,
    with_operator: Tally,
    with_span: Tally,
    unlinked: Tally,
    graph: Tally,
    explained: Tally,
    by_link: [Tally; Link::ALL.len()],
    /// Longer than the whole host side: a sign of a counter that overflowed.
    longer_than_trace: i64,
}

impl Tallies {
    fn of(links: &Links, host_ns: Option<i64>) -> Result<Self, IngestError> {
        let mut tallies = Self::default();
        let mut reader = links.rows.reader()?;
        while let Some(row) = reader.next_key()? {
            tallies.all.add(&row);
            tallies.by_link[row.link as usize].add(&row);
            for (tally, is_so) in [
                (&mut tallies.with_operator, row.operator.is_some() || row.has_framework_op),
                (&mut tallies.with_span, row.owner.is_some()),
                (&mut tallies.unlinked, row.launch.is_none()),
                (&mut tallies.graph, row.is_in_graph),
                (&mut tallies.explained, row.operator.is_some() || row.has_framework_op || row.is_in_graph),
            ] {
                if is_so {
                    tally.add(&row);
                }
            }
            tallies.longer_than_trace += i64::from(host_ns.is_some_and(|host_ns| row.end - row.start > host_ns));
        }
        Ok(tallies)
    }
}

fn figures(facts: &Facts<'_>, tallies: &Tallies, overlaps: Tally, has_host: bool) -> BTreeMap<String, Figure> {
    let Facts { counts, steps, links, .. } = facts;
    let Tallies { all, with_operator, with_span, unlinked, graph, explained, .. } = *tallies;
    let dropped = |code: &str| Figure::Count(counts.dropped.get(code).copied().unwrap_or(0) as i64);
    let share = |part: Tally| ratio(part.time_ns, all.time_ns);
    let mut figures = BTreeMap::new();
    let mut put = |name: &str, figure: Figure| {
        figures.insert(name.to_owned(), figure);
    };
    put("dropped_bad_time", dropped("bad_time"));
    put("dropped_negative_duration", dropped("negative_duration"));
    put("lost_events", Figure::Count(counts.lost() as i64));
    put("crossing_spans", Figure::Count(facts.crossing as i64));
    put("overlapping_steps", Figure::Count(steps.overlapping as i64));
    put("external_id_and_nesting_disagree", Figure::Count(links.counts.disagreements as i64));
    put("runtime_correlation_shared", Figure::Count(links.counts.shared_correlations as i64));
    put(
        "device_longer_than_trace",
        if has_host { Figure::Count(tallies.longer_than_trace) } else { Figure::Missing("no host events") },
    );
    put("device_events", Figure::Count(all.events));
    put("device_time_ns", Figure::Count(all.time_ns));
    for link in Link::ALL {
        let linked = tallies.by_link[link as usize];
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
    put("device_before_launch", Figure::Count(links.counts.device_before_launch as i64));
    put("step_source", Figure::Word(steps.source.as_text()));
    put("steps", Figure::Count(steps.list.len() as i64));
    put("incomplete_steps", Figure::Count(steps.list.iter().filter(|step| !step.is_complete).count() as i64));
    for (code, count) in counts.dropped.iter().filter(|(code, _)| stepscope_model::warning::is_loss(code)) {
        put(&format!("lost.{code}"), Figure::Count(*count as i64));
    }
    for (code, count) in &counts.warnings {
        put(&format!("warnings.{code}"), Figure::Count(*count as i64));
    }
    put("grade", Figure::Word(grade(facts, &explained, &all).as_text()));
    figures
}

fn ratio(part: i64, whole: i64) -> Figure {
    if whole == 0 { Figure::Missing(NO_DEVICE_EVENTS) } else { Figure::Ratio(part as f64 / whole as f64) }
}

/// *good* when nothing was lost and at least 95 % of device time is explained, *poor* below 50 % or when the file was
/// cut, else *partial*.
fn grade(facts: &Facts<'_>, explained: &Tally, all: &Tally) -> Grade {
    let tells_a_cut =
        |note: &Note| !matches!(note, Note::BareArray | Note::InvalidUtf8 | Note::NotRecorded | Note::SegmentsOnly);
    let is_cut = facts.notes.iter().any(tells_a_cut);
    let has_gaps = facts.counts.lost() > 0 || facts.notes.contains(&Note::NotRecorded);
    let explains = |percent: i128| i128::from(explained.time_ns) * 100 >= i128::from(all.time_ns) * percent;
    if is_cut || !explains(50) {
        Grade::Poor
    } else if has_gaps || !explains(95) {
        Grade::Partial
    } else {
        Grade::Good
    }
}

/// Events that start before another of their stream has ended, and the time they share.
fn same_stream_overlaps(streams: Sorter<StreamTime>) -> Result<Tally, IngestError> {
    let streams = streams.finish()?;
    let mut reader = streams.reader()?;
    let mut overlaps = Tally::default();
    let mut before: Option<StreamTime> = None;
    while let Some(mut time) = reader.next_key()? {
        let same = before.filter(|before| (before.device, before.stream) == (time.device, time.stream));
        if let Some(before) = same {
            if time.start < before.end {
                overlaps.events += 1;
                overlaps.time_ns = overlaps.time_ns.saturating_add(time.end.min(before.end) - time.start);
            }
            time.end = time.end.max(before.end);
        }
        before = Some(time);
    }
    Ok(overlaps)
}
