//! From the remedy of a rule to changes of a replay: which spans and events it is about.

use std::collections::HashMap;

use stepscope_model::Kind;
use stepscope_replay::recording::{DeviceEvent, Recording};
use stepscope_replay::{Bound, Change, Gap, Selection};
use stepscope_rules::{Kernels, Part, Remedy, SMALL_COLLECTIVE_BYTES, WaitingCalls, Work, is_loading_region};
use stepscope_runs::RunError;

use super::evidence::spans_named;
use super::names::is_host_collective;
use super::{ReplayedRank, condition};
use crate::tensor_cores::{TensorCoreNames, is_eligible};
use crate::{Asking, comms};

/// Pinned copies are as fast as this on any full-width bus since 2012, mostly faster.
const PINNED_BYTES_PER_NS: f64 = 8.0;

/// Parts of the whole in which ratios are given.
const PARTS: u32 = 1_000;

impl ReplayedRank {
    /// The changes that show what a remedy does on this rank, which is alone or in its job.
    pub(super) fn changes(
        &self,
        remedy: Remedy,
        asking: &Asking<'_>,
        is_in_job: bool,
    ) -> Result<Vec<Change>, RunError> {
        let recording = self.recording();
        let spans = |places: &[u32]| Selection::of_places(recording, places, &[]);
        let evidence = &self.evidence;
        Ok(match remedy {
            Remedy::InputReady => self.input_ready(),
            Remedy::FirstBatchReady => vec![Change::Remove(spans(&evidence.first_batches))],
            Remedy::PinnedCopies => vec![Change::AsyncCopiesToDevice, self.at_pinned_speed(asking)?],
            Remedy::AsyncCopies => vec![Change::AsyncCopiesToDevice],
            Remedy::NoSync(WaitingCalls::AllButTheLast) => vec![Change::NoSyncOf(spans(&evidence.repeated_waits))],
            Remedy::NoSync(WaitingCalls::ScalarReads) => {
                let reading = self.steps.model().with_work(spans(&evidence.scalar_operators));
                // Python that asks for the value goes with it.
                let gap = |&span: &u32| Gap { span, is_start: true, length_ns: 0 };
                let gaps = evidence.scalar_operators.iter().map(gap).collect();
                let waits = Change::NoSyncOf(spans(&evidence.scalar_reads));
                vec![waits, Change::Remove(reading), Change::ShortenGaps(gaps)]
            }
            Remedy::Graph => vec![Change::CudaGraph],
            Remedy::Fuse(Kernels::ElementwiseRuns) => vec![Change::Fuse(evidence.fusible_runs.clone())],
            Remedy::Fuse(Kernels::Small) => vec![Change::Fuse(self.runs_of_small_kernels())],
            Remedy::Fuse(Kernels::OfTheOptimizer) => vec![Change::Fuse(self.runs_of_the_optimizer())],
            Remedy::Scale(Work::WithoutTensorCores) => vec![half(recording, &self.without_tensor_cores()?)],
            Remedy::Scale(Work::Eligible) => vec![half(recording, &self.eligible())],
            Remedy::Scale(Work::LowOccupancy) => vec![self.larger_batch()],
            Remedy::Remove(Part::HostCollectives) => {
                let named = recording.names.that(is_host_collective);
                let annotations = spans_named(recording, &named, |span| span.kind == Kind::Annotation);
                vec![Change::Remove(spans(&annotations))]
            }
            Remedy::Remove(Part::AllocatorCalls) => vec![Change::Remove(spans(&evidence.allocator_calls))],
            Remedy::Remove(Part::Compiling) => vec![Change::Remove(spans(&evidence.compiles))],
            Remedy::Remove(Part::Pauses) => vec![Change::ShortenGaps(evidence.pauses.clone())],
            Remedy::Remove(Part::ProfilerOverhead) => {
                vec![Change::Shorten { events: Vec::new(), spans: evidence.with_overhead.clone() }]
            }
            Remedy::Remove(Part::RedundantCopies) => {
                vec![Change::Remove(Selection::of_places(recording, &[], &evidence.redundant))]
            }
            Remedy::CommunicationOverlapped => vec![Change::CommunicationOverlapped],
            Remedy::EqualRanks => vec![self.without_waiting(asking)?],
            Remedy::EvenLinks => vec![self.at_usual_bandwidth(asking, is_in_job)?],
            Remedy::LargerCollectives => vec![self.at_best_bandwidth()],
            // What that saves follows from the lengths of the steps alone.
            Remedy::EvenSteps => Vec::new(),
        })
    }

    fn recording(&self) -> &Recording {
        self.steps.model().recording()
    }

    /// The loader is ready, and so is what the author of the program named for loading.
    fn input_ready(&self) -> Vec<Change> {
        let recording = self.recording();
        let named = recording.names.that(is_loading_region);
        let regions = spans_named(recording, &named, |span| span.kind == Kind::Annotation);
        let has_loader = self.evidence.steps.iter().any(|step| step.loader_ns > 0);
        if has_loader || regions.is_empty() {
            return vec![Change::InputReady];
        }
        vec![Change::InputReady, Change::Remove(Selection::of_places(recording, &regions, &[]))]
    }

    /// Kernels shorter than their call that follow each other on a stream, of operators inside one span.
    fn runs_of_small_kernels(&self) -> Vec<Vec<u32>> {
        let (model, recording) = (self.steps.model(), self.recording());
        let is_shorter = |event: &DeviceEvent| {
            recording.launch_of(event).is_some_and(|call| is_computing(event) && event.dur_ns < call.dur_ns)
        };
        let runs = model.runs_of(&Selection::of_events(recording, is_shorter));
        let around = |place: &u32| {
            let operator = recording.events[*place as usize].operator?;
            model.around(operator).nth(1)
        };
        let is_one = |a: &u32, b: &u32| around(a).is_some() && around(a) == around(b);
        let parts = runs.iter().flat_map(|run| run.chunk_by(is_one));
        parts.filter(|run| run.len() > 1).map(<[u32]>::to_vec).collect()
    }

    /// Kernels that follow each other inside a step of the optimizer.
    fn runs_of_the_optimizer(&self) -> Vec<Vec<u32>> {
        let (model, recording) = (self.steps.model(), self.recording());
        let named = recording.names.that(|name| name.starts_with("Optimizer.step"));
        let steps = spans_named(recording, &named, |span| span.kind == Kind::Annotation);
        let inside = model.with_work(Selection::of_places(recording, &steps, &[]));
        let kernels = Selection::of_events(recording, is_computing).and(&inside);
        model.runs_of(&kernels)
    }

    /// What tensor cores can do.
    fn eligible(&self) -> Vec<u32> {
        let recording = self.recording();
        let named = recording.names.that(is_eligible);
        let is_meant = |event: &DeviceEvent| {
            let operator = event.operator.map(|place| &recording.spans[place as usize]);
            event.kind == Kind::Kernel && operator.is_some_and(|operator| named.has(operator.name))
        };
        let events = recording.events.iter().enumerate();
        events.filter(|(_, event)| is_meant(event)).map(|(place, _)| place as u32).collect()
    }

    /// What they can do and do not.
    fn without_tensor_cores(&self) -> Result<Vec<u32>, RunError> {
        let recording = self.recording();
        let used = TensorCoreNames::new()?;
        let without = recording.names.that(|name| !used.are_used(name));
        let mut eligible = self.eligible();
        eligible.retain(|place| without.has(recording.events[*place as usize].name));
        Ok(eligible)
    }

    /// Small collectives move their bytes as fast as the fastest collective.
    fn at_best_bandwidth(&self) -> Change {
        let bytes_of = |event: &DeviceEvent| self.details.collective_bytes.get(&event.span_id).copied();
        let speed = |event: &DeviceEvent| Some(bytes_of(event)? as f64 / event.dur_ns.max(1) as f64);
        let events = || self.recording().events.iter().enumerate();
        let best = events().filter_map(|(_, event)| speed(event)).fold(0.0, f64::max);
        let small = events().filter_map(|(place, event)| {
            let bytes = bytes_of(event).filter(|bytes| *bytes < SMALL_COLLECTIVE_BYTES)?;
            Some((place as u32, (bytes as f64 / best) as i64))
        });
        Change::Shorten { events: small.collect(), spans: Vec::new() }
    }

    /// Transfers over slow links take as much less as these are slower than others. Waiting stays; in a job it is
    /// derived from the other ranks.
    fn at_usual_bandwidth(&self, asking: &Asking<'_>, is_in_job: bool) -> Result<Change, RunError> {
        let mut lengths = HashMap::new();
        for link in &self.slow_links {
            let rows = asking.query(&format!(
                "SELECT span_id, dur_ns FROM all_collectives
                 WHERE {{source}} AND {} AND group_id = {} AND collective = '{}' AND message_bytes = {}",
                condition(self.id),
                link.group_id,
                link.collective.replace('\'', "''"),
                link.message_bytes
            ))?;
            let usual_ns = (link.transfer_ns as f64 * link.ratio()) as i64;
            let saved_ns = link.transfer_ns - usual_ns;
            let length_ns = |dur_ns: i64| if is_in_job { usual_ns } else { (dur_ns - saved_ns).max(0) };
            let shorter = rows.required_i64("dur_ns")?.into_iter().map(length_ns);
            lengths.extend(rows.required_i64("span_id")?.into_iter().zip(shorter));
        }
        Ok(Change::Shorten { events: self.events_of(&lengths), spans: Vec::new() })
    }

    /// A batch so much larger that kernels fill the device: these take as long as before, and what filled it longer.
    fn larger_batch(&self) -> Change {
        let of = Selection::of_places(self.recording(), &[], &self.evidence.grows_with_batch);
        let filled = (self.filled_ratio() / 0.9).clamp(super::LEAST_FILLED, 1.0);
        Change::Scale { of, numerator: PARTS, denominator: (filled * f64::from(PARTS)) as u32 }
    }

    /// The part of the device that kernels fill which do not fill it, on average over their time.
    pub(super) fn filled_ratio(&self) -> f64 {
        let mut sums = (0.0, 0.0);
        for event in &self.recording().events {
            if let Some(blocks) = self.details.blocks_per_sm.get(&event.span_id) {
                sums = (sums.0 + blocks * event.dur_ns as f64, sums.1 + event.dur_ns as f64);
            }
        }
        if sums.1 > 0.0 { sums.0 / sums.1 } else { 1.0 }
    }

    /// Pageable copies at the speed of pinned ones of this recording; at the least usual speed if there are no such.
    fn at_pinned_speed(&self, asking: &Asking<'_>) -> Result<Change, RunError> {
        let rows = asking.query(&format!(
            "SELECT span_id, size_bytes, dur_ns, name LIKE '%Pageable%' AS is_pageable FROM device_events
             WHERE {{source}} AND {} AND kind = 'memcpy' AND size_bytes > 0 AND dur_ns > 0
               AND (name LIKE '%Pageable%' OR name LIKE '%Pinned%')",
            condition(self.id)
        ))?;
        let (ids, sizes) = (rows.required_i64("span_id")?, rows.required_i64("size_bytes")?);
        let (durations, are_pageable) = (rows.required_i64("dur_ns")?, rows.bool("is_pageable")?);
        let is_pageable = |row: &usize| are_pageable[*row] == Some(true);
        let (pageable, pinned): (Vec<usize>, Vec<usize>) = (0..rows.rows()).partition(is_pageable);
        let sums = |rows: &[usize]| rows.iter().fold((0, 0), |sum, &row| (sum.0 + sizes[row], sum.1 + durations[row]));
        let (moved, taken_ns) = sums(&pinned);
        if moved > 0 {
            let at_speed = |row: usize| (i128::from(sizes[row]) * i128::from(taken_ns) / i128::from(moved)) as i64;
            let lengths = pageable.into_iter().map(|row| (ids[row], at_speed(row))).collect();
            return Ok(Change::Shorten { events: self.events_of(&lengths), spans: Vec::new() });
        }
        let (moved, taken_ns) = sums(&pageable);
        let ratio = moved as f64 / taken_ns.max(1) as f64 / PINNED_BYTES_PER_NS;
        let copies = pageable.into_iter().map(|row| (ids[row], 0)).collect();
        let places: Vec<u32> = self.events_of(&copies).into_iter().map(|(place, _)| place).collect();
        let of = Selection::of_places(self.recording(), &[], &places);
        Ok(Change::Scale { of, numerator: (ratio.min(1.0) * f64::from(PARTS)) as u32, denominator: PARTS })
    }

    /// Collectives take as long as their transfer: no rank waits for another one.
    fn without_waiting(&self, asking: &Asking<'_>) -> Result<Change, RunError> {
        let transfers = comms::transfers_of(asking, self.id)?;
        let spans = self.recording().spans.iter().enumerate();
        let on_host = spans.filter(|(_, span)| span.kind == Kind::Annotation);
        let spans = on_host.filter_map(|(place, span)| Some((place as u32, *transfers.get(&span.span_id)?))).collect();
        Ok(Change::Shorten { events: self.events_of(&transfers), spans })
    }

    /// Values by the number of a span as values by the place of its event.
    fn events_of(&self, values: &HashMap<i64, i64>) -> Vec<(u32, i64)> {
        let events = self.recording().events.iter().enumerate();
        events.filter_map(|(place, event)| Some((place as u32, *values.get(&event.span_id)?))).collect()
    }
}

fn is_computing(event: &DeviceEvent) -> bool {
    event.kind == Kind::Kernel && !event.is_communication
}

/// Half of the time for some events.
fn half(recording: &Recording, events: &[u32]) -> Change {
    Change::Scale { of: Selection::of_places(recording, &[], events), numerator: 1, denominator: 2 }
}

/// What a saving by a remedy is worth, where that does not follow from the changes alone.
pub(super) fn bound(remedy: Remedy, changes: &[Change]) -> Bound {
    let has_lengths = |change: &Change| matches!(change, Change::Shorten { events, .. } if !events.is_empty());
    match remedy {
        // How fast pinned copies are was not recorded.
        Remedy::PinnedCopies if !changes.iter().any(has_lengths) => Bound::AtLeast,
        // Tensor cores are more than twice as fast; and kernels beside a transfer are slowed by it for a shorter time.
        Remedy::Scale(Work::WithoutTensorCores | Work::Eligible) | Remedy::EvenLinks => Bound::AtLeast,
        Remedy::FirstBatchReady => Bound::AtMost,
        _ => changes.iter().fold(Bound::Estimate, |bound, change| bound.and(change.bound())),
    }
}
