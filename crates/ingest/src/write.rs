//! Writes the tables of one source.

mod activity;
mod breakdown;
pub(crate) mod collectives;
mod device_use;
mod kernel_rollup;
mod op_rollup;
mod overview;
pub(crate) mod rollups;
pub(crate) mod rows;
mod stretches;
pub(crate) mod tiles;
mod windows;

use std::collections::BTreeMap;

use stepscope_figures::stack_category::language;
use stepscope_formats::TrackKind;
use stepscope_model::args::SPAN_ARG_COLUMNS;
use stepscope_model::tables::{
    COUNTERS, FLOWS, FRAMES, FUNCTION_CALLS, FUNCTIONS, HEALTH, INGEST_WARNINGS, MEMORY_BLOCKS, MEMORY_EVENTS,
    MEMORY_SEGMENTS, PROGRAMS, SPANS, STACKS, STEPS, TRACKS,
};
use stepscope_model::{BlockState, Table};
use stepscope_store::SourceWriter;

use self::op_rollup::DeviceWork;
use self::rollups::{Derived, Rollups};
use self::rows::{Rows, SourceText as _};
use self::tiles::Tiles;
use crate::collect::ToldProgram;
use crate::collect::counts::Counts;
use crate::collect::functions;
use crate::collect::record::{CellValue, CounterHead, Flag, FlowHead, MemoryHead, MomentKey, SpanId};
use crate::collect::stacks::{BlockRow, Snapshot};
use crate::collect::tracks::{TrackKey, Tracks};
use crate::derive::Derivation;
use crate::derive::evidence::{CommRule, ForwardRule};
use crate::derive::health::Figure;
use crate::derive::link::OperatorTime;
use crate::derive::nest::Nest;
use crate::derive::steps::Steps;
use crate::derive::stream::SpanStream;
use crate::error::IngestError;
use crate::spill::row::Field;
use crate::spill::sorter::{Reader, Sorted};
use crate::spill::strings::Strings;
use crate::watch::Watch;

/// Writes the tables of one source.
pub(crate) struct Tables<'w> {
    pub writer: &'w mut SourceWriter,
}

/// What is made of the spans while they are written.
pub(crate) struct Made<'a> {
    pub rollups: Option<Rollups<'a>>,
    pub tiles: Option<Tiles<'a>>,
}

impl Tables<'_> {
    /// The second walk over the spans: what is known of each is put together and written.
    pub(crate) fn spans(
        &mut self,
        mut stream: SpanStream<'_>,
        strings: &Strings,
        derivation: &Derivation,
        made: Made<'_>,
        tracks: &Tracks,
        watch: &mut Watch<'_>,
    ) -> Result<(), IngestError> {
        let Made { mut rollups, mut tiles } = made;
        let mut rows = self.rows(&SPANS, strings)?;
        let mut nest = Nest::default();
        let mut work_times = derivation.work_times.reader()?;
        let mut self_times = derivation.self_ns.reader();
        let mut links = derivation.links.rows.reader()?;
        let mut graph_places = derivation.links.graph_places.reader()?;
        let mut forwards = derivation.forwards.reader()?;
        let mut operator_times = derivation.links.operator_times.reader()?;
        let mut launches = derivation.links.launches.reader()?;
        let mut issuers = derivation.communication_issuers.reader()?;
        while let Some(span) = stream.next()? {
            let (key, head) = (&span.key, &span.record.head);
            let texts = span.record.texts;
            let is_device = head.kind.is_device();
            let work = match work_times.peek()? {
                Some(work) if work.id == span.id => work_times.next_key()?,
                _ => None,
            };
            let mut nested = nest.push(&span.for_nest(work.is_some(), tracks.list[key.track as usize].told.is_some()));
            nest.ended.clear();
            let self_ns = match work {
                Some(work) => {
                    nested.parent = work.parent;
                    work.self_ns
                }
                None if is_device => key.dur(),
                None => self_times.get(span.id)?,
            };
            let link = if is_device { links.next_key()? } else { None };
            let graph = match graph_places.peek()? {
                Some(place) if place.id == span.id => graph_places.next_key()?,
                _ => None,
            };
            let mut forward = None;
            while let Some(found) = forwards.peek()?.filter(|found| found.id == span.id) {
                forward = forward.or(Some(found));
                forwards.next_key()?;
            }
            let step = derivation.steps.step_of(head.kind, key.start, link.as_ref());
            if let Some(tiles) = &mut tiles {
                tiles.push(&span, nested.depth, link.is_some_and(|link| link.comm_rule.is_some()))?;
            }
            if let Some(rollups) = &mut rollups {
                let device = device_work(&mut operator_times, span.id)?;
                let mut issued_communication = false;
                while issuers.peek()?.is_some_and(|issuer| issuer.id == span.id) {
                    issued_communication = true;
                    issuers.next_key()?;
                }
                let launch = match launches.peek()? {
                    Some(launch) if launch.call == span.id => launches.next_key()?,
                    _ => None,
                };
                let derived =
                    Derived { span: &span, nested, step, self_ns, link, device, launch, issued_communication };
                rollups.push(&derived)?;
            }
            let module = if is_device { link.and_then(|link| link.module) } else { nested.module };
            rows.i64(span.id.index() as i64)
                .i32(key.track as i32)
                .i64(key.start)
                .i64(key.dur())
                .i64(key.position as i64)
                .word(head.phase.as_text())
                .word(head.flag.map(Flag::as_text))
                .word(head.kind.as_text())
                .source_text(head.category, texts)
                .source_text(head.name, texts)
                .i64(id(nested.parent))
                .i32(nested.depth as i32)
                .i64(self_ns)
                .i64(id(nested.parent_op))
                .i64(id(nested.python_parent))
                .i64(id(module))
                .i64(id(link.and_then(|link| link.launch)))
                .i64(id(link.and_then(|link| link.owner)))
                .i64(id(link.and_then(|link| link.operator)))
                .word(link.map(|link| link.link.as_text()))
                .i64(graph.map(|place| i64::from(place.launch_number)))
                .i64(graph.map(|place| place.node))
                .word(link.and_then(|link| link.comm_rule).map(CommRule::as_text))
                .word(link.map(|link| link.category.as_text()))
                .i32(step.map(|step| step as i32))
                .i64(id(forward.map(|found| found.forward)))
                .word(forward.map(|found| found.rule).map(ForwardRule::as_text));
            for cell in span.record.cells() {
                rows.ahead(cell.column as usize, |rows| {
                    match cell.value {
                        CellValue::Int(value) => rows.i64(value),
                        CellValue::Float(value) => rows.f64(value),
                        CellValue::Text(text) => rows.source_text(text, texts),
                    };
                });
            }
            rows.skip(SPAN_ARG_COLUMNS.len()).source_text(head.rest, texts).end_row()?;
            watch.tick()?;
        }
        rows.finish()?;
        if let Some(tiles) = tiles {
            tiles.finish()?;
        }
        match rollups {
            Some(rollups) => rollups.finish(&derivation.steps, self.writer),
            None => Ok(()),
        }
    }

    pub(crate) fn tracks(&mut self, tracks: &Tracks, strings: &Strings) -> Result<(), IngestError> {
        let mut rows = self.rows(&TRACKS, strings)?;
        for (track_id, track) in tracks.list.iter().enumerate() {
            let (process, thread) = (tracks.process_labels(track), tracks.thread_labels(track));
            let text = |id| strings.get(id);
            rows.i32(track_id as i32);
            match track.key {
                TrackKey::Thread { process, thread } => {
                    rows.word(if track.has_device_work { "stream" } else { "thread" }).text_id(process).text_id(thread);
                }
                TrackKey::Told { .. } => {
                    let kind = match track.told.map(|told| told.kind) {
                        _ if track.has_device_work => "stream",
                        Some(TrackKind::Stream) => "stream",
                        Some(TrackKind::Thread) => "thread",
                        Some(TrackKind::Async) | None => "async",
                    };
                    let told = track.told;
                    rows.word(kind).text_id(told.map(|told| told.process)).text_id(told.map(|told| told.thread));
                }
                TrackKey::Async { category, id } => {
                    let lane = format!("{}:{}", category.map_or("", text), id.map_or("", text));
                    rows.word("async").null().text(lane.as_str());
                }
            }
            rows.text_id(process.name)
                .text_id(process.labels)
                .text_id(thread.name)
                .i64(process.sort_index)
                .i64(thread.sort_index)
                .i64(track.device_id.filter(|_| track.has_device_work || track.told.is_some()))
                .i64(track.stream_id.filter(|_| track.has_device_work || track.told.is_some()))
                .i64(track.spans as i64)
                .i64(track.first)
                .i64(track.last);
            for lanes in track.lanes.by_group() {
                rows.i32(lanes as i32);
            }
            rows.end_row()?;
        }
        Ok(rows.finish()?)
    }

    pub(crate) fn counter_rows<'s>(&mut self, strings: &'s Strings) -> Result<Rows<'s>, IngestError> {
        self.rows(&COUNTERS, strings)
    }

    pub(crate) fn counter(rows: &mut Rows<'_>, moment: &MomentKey, mut texts: &[u8]) -> Result<(), IngestError> {
        let counter = CounterHead::take(&mut texts);
        rows.i32(moment.track as i32)
            .i64(moment.ts)
            .i64(moment.position as i64)
            .source_text(counter.name, texts)
            .source_text(counter.series, texts)
            .f64(counter.value_bits.map(|bits| f64::from_bits(bits.cast_unsigned())))
            .source_text(counter.args, texts)
            .end_row()?;
        Ok(())
    }

    pub(crate) fn memory_rows<'s>(&mut self, strings: &'s Strings) -> Result<Rows<'s>, IngestError> {
        self.rows(&MEMORY_EVENTS, strings)
    }

    pub(crate) fn memory_event(
        rows: &mut Rows<'_>,
        moment: &MomentKey,
        event: &MemoryHead,
        texts: &[u8],
        (operator, base_time_ns): (Option<SpanId>, i64),
    ) -> Result<(), IngestError> {
        rows.i32(moment.track as i32)
            .i64(event.ts_ns.map(|ts| ts + base_time_ns))
            .i64(moment.position as i64)
            .i64(event.size_bytes)
            .i64(event.address)
            .i64(event.device_type)
            .i64(event.device_id)
            .i64(event.total_allocated_bytes)
            .i64(event.total_reserved_bytes)
            .i64(event.event_index)
            .i64(id(operator))
            .source_text(event.action, texts)
            .source_text(event.allocator, texts)
            .i64(event.stream_id)
            .i64(event.stack_id)
            .source_text(event.category, texts)
            .i64(event.active_bytes)
            .source_text(event.args, texts)
            .end_row()?;
        Ok(())
    }

    pub(crate) fn flow_rows<'s>(&mut self, strings: &'s Strings) -> Result<Rows<'s>, IngestError> {
        self.rows(&FLOWS, strings)
    }

    pub(crate) fn flow(
        rows: &mut Rows<'_>,
        moment: &MomentKey,
        flow: &FlowHead,
        texts: &[u8],
        span: Option<SpanId>,
    ) -> Result<(), IngestError> {
        rows.i32(moment.track as i32)
            .i64(moment.ts)
            .i64(moment.position as i64)
            .word(flow.phase.as_text())
            .source_text(flow.category, texts)
            .source_text(flow.name, texts)
            .i64(flow.id)
            .source_text(flow.id_text, texts)
            .i64(id(span))
            .end_row()?;
        Ok(())
    }

    pub(crate) fn functions(&mut self, functions: &Sorted<u64>, strings: &Strings) -> Result<(), IngestError> {
        functions::write(functions, self.rows(&FUNCTIONS, strings)?, self.rows(&FUNCTION_CALLS, strings)?)
    }

    pub(crate) fn programs(&mut self, programs: &[ToldProgram], strings: &Strings) -> Result<(), IngestError> {
        let mut rows = self.rows(&PROGRAMS, strings)?;
        for program in programs {
            rows.i64(program.id).text_id(Some(program.name)).i64(program.bytes as i64).end_row()?;
        }
        Ok(rows.finish()?)
    }

    /// Stacks, segments and blocks of a snapshot.
    pub(crate) fn snapshot(
        &mut self,
        snapshot: &Snapshot,
        blocks: &Sorted<BlockRow>,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        let mut rows = self.rows(&FRAMES, strings)?;
        for (frame_id, frame) in snapshot.frames.iter().enumerate() {
            let language = language(frame.file.map(|file| strings.get(file)), strings.get(frame.name));
            rows.i64(frame_id as i64)
                .text_id(Some(frame.name))
                .text_id(frame.file)
                .i64(frame.line)
                .word(language)
                .end_row()?;
        }
        rows.finish()?;
        let mut rows = self.rows(&STACKS, strings)?;
        for (stack_id, frames) in snapshot.stacks().enumerate() {
            for (depth, frame) in frames.iter().enumerate() {
                rows.i64(stack_id as i64).i32(depth as i32).i64(i64::from(*frame)).end_row()?;
            }
        }
        rows.finish()?;
        let mut rows = self.rows(&MEMORY_SEGMENTS, strings)?;
        for (number, segment) in snapshot.segments.iter().enumerate() {
            rows.i64(number as i64)
                .null()
                .i64(segment.device_id)
                .i64(segment.address.map(u64::cast_signed))
                .i64(segment.total_bytes)
                .i64(segment.allocated_bytes)
                .i64(segment.pending_bytes)
                .i64(segment.inactive_bytes)
                .i64(segment.requested_bytes)
                .i64(segment.blocks as i64)
                .i64(segment.stream_id)
                .text_id(segment.kind)
                .text_id(segment.pool)
                .bool(segment.is_expandable)
                .i64(segment.stack.map(i64::from))
                .end_row()?;
        }
        rows.finish()?;
        let categories = snapshot.categories(strings);
        let mut rows = self.rows(&MEMORY_BLOCKS, strings)?;
        let mut reader = blocks.reader()?;
        while let Some(block) = reader.next_key()? {
            let category = block.stack.and_then(|stack| categories.get(stack as usize)).copied().unwrap_or("unknown");
            rows.i64(block.segment as i64)
                .i64(block.position as i64)
                .i64(block.device_id)
                .i64(block.address)
                .i64(block.size_bytes)
                .i64(block.requested_bytes)
                .word(block.state().map(BlockState::as_text))
                .i64(block.stack)
                .word(category)
                .end_row()?;
        }
        Ok(rows.finish()?)
    }

    pub(crate) fn steps(&mut self, steps: &Steps, strings: &Strings) -> Result<(), IngestError> {
        let mut rows = self.rows(&STEPS, strings)?;
        for (number, step) in steps.list.iter().enumerate() {
            rows.i32(number as i32)
                .text(step.name.as_str())
                .word(steps.source.as_text())
                .i64(step.start)
                .i64(step.end)
                .i64(step.end - step.start)
                .i64(step.host_start)
                .i64(step.host_end - step.host_start)
                .i64(step.device_events as i64)
                .bool(step.is_complete)
                .i64(step.samples)
                .end_row()?;
        }
        Ok(rows.finish()?)
    }

    pub(crate) fn warnings(&mut self, counts: &Counts, strings: &Strings) -> Result<(), IngestError> {
        let mut rows = self.rows(&INGEST_WARNINGS, strings)?;
        for warning in &counts.rows {
            rows.text(warning.code.as_str())
                .bool(warning.is_loss)
                .i64(warning.position.map(|position| position as i64))
                .i64(warning.offset_bytes.map(|offset| offset as i64))
                .text(warning.detail.as_deref())
                .end_row()?;
        }
        Ok(rows.finish()?)
    }

    pub(crate) fn health(&mut self, figures: &BTreeMap<String, Figure>, strings: &Strings) -> Result<(), IngestError> {
        let mut rows = self.rows(&HEALTH, strings)?;
        for (name, figure) in figures {
            rows.text(name.as_str());
            match figure {
                Figure::Count(value) => rows.i64(*value).null().null().null(),
                Figure::Ratio(value) => rows.null().f64(*value).null().null(),
                Figure::Word(word) => rows.null().null().text(*word).null(),
                Figure::Missing(reason) => rows.null().null().null().word(*reason),
            };
            rows.end_row()?;
        }
        Ok(rows.finish()?)
    }

    fn rows<'s>(&mut self, table: &'static Table, strings: &'s Strings) -> Result<Rows<'s>, IngestError> {
        Ok(self.writer.rows(table, strings)?)
    }
}

/// What belongs to an operator; operators are asked for in their order.
fn device_work(times: &mut Reader<'_, OperatorTime>, operator: SpanId) -> Result<DeviceWork, IngestError> {
    let mut work = DeviceWork::default();
    while let Some(time) = times.peek()?.filter(|time| time.operator == operator) {
        work.events += 1;
        work.time_ns = work.time_ns.saturating_add(time.dur);
        times.next_key()?;
    }
    Ok(work)
}

fn id(span: Option<SpanId>) -> Option<i64> {
    span.map(|id| id.index() as i64)
}
