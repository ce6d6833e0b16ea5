//! Writes the tables of one source.

use std::collections::BTreeMap;

use stepscope_model::args::SPAN_ARG_COLUMNS;
use stepscope_model::tables::{COUNTERS, FLOWS, HEALTH, INGEST_WARNINGS, MEMORY_EVENTS, SPANS, STEPS, TRACKS};
use stepscope_model::{ColumnType, SourceId, Table};
use stepscope_store::SourceWriter;

use crate::collect::Records;
use crate::derived::{CommRule, Derived, ForwardRule, Link};
use crate::error::IngestError;
use crate::health::Figure;
use crate::record::{CellValue, Flag, SpanId};
use crate::rows::Rows;
use crate::steps::Steps;
use crate::tracks::TrackKey;

/// Writes the tables of one source.
pub(crate) struct Tables<'a> {
    pub writer: &'a mut SourceWriter,
    pub id: SourceId,
    pub records: &'a Records,
}

impl<'a> Tables<'a> {
    pub(crate) fn spans(&mut self, derived: &[Derived]) -> Result<(), IngestError> {
        let mut rows = self.rows(&SPANS)?;
        let mut args = [None; SPAN_ARG_COLUMNS.len()];
        for (span_id, (span, derived)) in self.records.spans.iter().zip(derived).enumerate() {
            self.source(&mut rows)
                .i64(span_id as i64)
                .i32(span.track as i32)
                .i64(span.start)
                .i64(span.dur())
                .i64(span.position as i64)
                .word(span.phase.as_text())
                .word(span.flag.map(Flag::as_text))
                .word(span.kind.as_text())
                .text(span.category)
                .text(span.name)
                .i64(id(derived.parent))
                .i32(derived.depth as i32)
                .i64(derived.self_ns)
                .i64(id(derived.parent_op))
                .i64(id(derived.python_parent))
                .i64(id(derived.module))
                .i64(id(derived.launch))
                .i64(id(derived.owner))
                .i64(id(derived.operator))
                .word(derived.link.map(Link::as_text))
                .i64(derived.graph_launch.map(i64::from))
                .i64(derived.graph_node)
                .word(derived.comm_rule.map(CommRule::as_text))
                .i32(derived.step.map(|step| step as i32))
                .i64(id(derived.forward))
                .word(derived.forward_rule.map(ForwardRule::as_text));
            args.fill(None);
            for cell in self.records.cells_of(span.args) {
                args[cell.column as usize] = Some(cell.value);
            }
            for (column, value) in SPAN_ARG_COLUMNS.iter().zip(args) {
                match (column.column_type, value) {
                    (ColumnType::I64, Some(CellValue::Int(value))) => rows.i64(value),
                    (ColumnType::F64, Some(CellValue::Float(value))) => rows.f64(value),
                    (ColumnType::Text, Some(CellValue::Text(value))) => rows.text(value),
                    _ => rows.null(),
                };
            }
            rows.text(span.args.rest).end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn tracks(&mut self) -> Result<(), IngestError> {
        let mut rows = self.rows(&TRACKS)?;
        let tracks = &self.records.tracks;
        for (track_id, track) in tracks.list.iter().enumerate() {
            let (process, thread) = (tracks.process_labels(track), tracks.thread_labels(track));
            let text = |id| self.records.strings.text(id);
            self.source(&mut rows).i32(track_id as i32);
            match track.key {
                TrackKey::Thread { process, thread } => {
                    rows.word(if track.has_device_work { "stream" } else { "thread" }).text(process).text(thread);
                }
                TrackKey::Async { category, id } => {
                    let lane = format!("{}:{}", category.map_or("", text), id.map_or("", text));
                    rows.word("async").null().word(lane.as_str());
                }
            }
            rows.text(process.name)
                .text(process.labels)
                .text(thread.name)
                .i64(process.sort_index)
                .i64(thread.sort_index)
                .i64(track.device_id.filter(|_| track.has_device_work))
                .i64(track.stream_id.filter(|_| track.has_device_work))
                .i64(track.spans as i64)
                .i64(track.first)
                .i64(track.last)
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn counters(&mut self) -> Result<(), IngestError> {
        let mut rows = self.rows(&COUNTERS)?;
        for counter in &self.records.counters {
            self.source(&mut rows)
                .i32(counter.track as i32)
                .i64(counter.ts)
                .i64(counter.position as i64)
                .text(counter.name)
                .text(counter.series)
                .f64(counter.value)
                .text(counter.args)
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn memory_events(&mut self) -> Result<(), IngestError> {
        let mut rows = self.rows(&MEMORY_EVENTS)?;
        for event in &self.records.memory {
            self.source(&mut rows)
                .i32(event.track as i32)
                .i64(event.ts)
                .i64(event.position as i64)
                .i64(event.size_bytes)
                .i64(event.address)
                .i64(event.device_type)
                .i64(event.device_id)
                .i64(event.total_allocated_bytes)
                .i64(event.total_reserved_bytes)
                .i64(event.event_index)
                .i64(id(event.operator))
                .text(event.args)
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn flows(&mut self) -> Result<(), IngestError> {
        let mut rows = self.rows(&FLOWS)?;
        for flow in &self.records.flows {
            self.source(&mut rows)
                .i32(flow.track as i32)
                .i64(flow.ts)
                .i64(flow.position as i64)
                .word(flow.phase.as_text())
                .text(flow.category)
                .text(flow.name)
                .i64(flow.id)
                .text(flow.id_text)
                .i64(id(flow.span))
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn steps(&mut self, steps: &Steps) -> Result<(), IngestError> {
        let mut rows = self.rows(&STEPS)?;
        for (number, step) in steps.list.iter().enumerate() {
            self.source(&mut rows)
                .i32(number as i32)
                .word(step.name.as_str())
                .word(steps.source)
                .i64(step.start)
                .i64(step.end)
                .i64(step.end - step.start)
                .i64(step.host_start)
                .i64(step.host_end - step.host_start)
                .i64(step.device_events as i64)
                .bool(step.is_complete)
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn warnings(&mut self) -> Result<(), IngestError> {
        let mut rows = self.rows(&INGEST_WARNINGS)?;
        for warning in &self.records.counts.rows {
            self.source(&mut rows)
                .word(warning.code.as_str())
                .bool(warning.is_loss)
                .i64(warning.position.map(|position| position as i64))
                .i64(warning.offset_bytes.map(|offset| offset as i64))
                .word(warning.detail.as_deref())
                .end_row()?;
        }
        rows.finish()
    }

    pub(crate) fn health(&mut self, figures: &BTreeMap<String, Figure>) -> Result<(), IngestError> {
        let mut rows = self.rows(&HEALTH)?;
        for (name, figure) in figures {
            self.source(&mut rows).word(name.as_str());
            match figure {
                Figure::Count(value) => rows.i64(*value).null().null().null(),
                Figure::Ratio(value) => rows.null().f64(*value).null().null(),
                Figure::Word(word) => rows.null().null().word(word.as_str()).null(),
                Figure::Missing(reason) => rows.null().null().null().word(*reason),
            };
            rows.end_row()?;
        }
        rows.finish()
    }

    fn rows(&mut self, table: &'static Table) -> Result<Rows<'a>, IngestError> {
        Ok(Rows::new(table, self.writer.table(table)?, &self.records.strings))
    }

    /// Every row begins with its source.
    fn source<'r, 's>(&self, rows: &'r mut Rows<'s>) -> &'r mut Rows<'s> {
        rows.i32(self.id.rank as i32).i32(self.id.window as i32)
    }
}

fn id(span: Option<SpanId>) -> Option<i64> {
    span.map(i64::from)
}
