//! What was found in one piece of text, in order, on its way to the sink.

use std::ops::Range;

use stepscope_model::Phase;
use stepscope_model::warning::WarningCode;

use super::microseconds::time;
use super::record::{FIELD_COUNT, Field, Record};
use super::slot::{ArgSlot, ScannedArgs, Slot};
use crate::error::FormatError;
use crate::event::{Args, Event};
use crate::sink::{TraceSink, Warning};

/// Bytes of findings that a batch may always hold.
const FULL_BYTES: usize = 1 << 20;

/// Takes batches to the sink.
pub(super) trait Outlet {
    /// Takes a batch and gives an empty one. Fails when the sink asked to stop.
    fn pass(&mut self, batch: Batch) -> Result<Batch, FormatError>;
}

/// A piece of text and what was found in it.
#[derive(Default)]
pub(super) struct Batch {
    /// The text. As long as the batch is being filled it is still in the window, and this is the room for the next one.
    pub(super) text: String,
    items: Vec<Item>,
    /// The arguments of all events, one after the other.
    args: Vec<ArgSlot>,
}

/// Places in it are counted from `start`, a place in the text of the batch.
enum Item {
    Event(ScannedEvent),
    Header { start: usize, key: Slot, value: Slot },
    Warning { code: WarningCode, position: Option<u64>, offset_bytes: u64, excerpt: Range<usize> },
    Progress { plain_bytes: u64 },
}

struct ScannedEvent {
    start: usize,
    position: u64,
    offset_bytes: u64,
    fields: [Slot; FIELD_COUNT],
    args_start: u32,
    args_end: u32,
    shape: Option<u32>,
    is_lenient: bool,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether it should be passed on before its text ends: it is large, also compared with the `left` bytes of text
    /// that would have to be copied.
    pub(super) fn is_full(&self, left: usize) -> bool {
        size_of_val(&*self.items) + size_of_val(&*self.args) > left.max(FULL_BYTES)
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.items.clear();
        self.args.clear();
    }

    /// The event in `record`, which begins at `start`.
    pub(super) fn event(&mut self, start: usize, position: u64, offset_bytes: u64, record: &Record) {
        let args_start = self.args.len() as u32;
        self.args.extend_from_slice(&record.args);
        let &Record { fields, shape, is_lenient, .. } = record;
        let args_end = self.args.len() as u32;
        self.items.push(Item::Event(ScannedEvent {
            start,
            position,
            offset_bytes,
            fields,
            args_start,
            args_end,
            shape,
            is_lenient,
        }));
    }

    /// An entry of the header, with places counted from `start`.
    pub(super) fn header(&mut self, start: usize, key: Slot, value: Slot) {
        self.items.push(Item::Header { start, key, value });
    }

    /// Something that was not right; `excerpt` is where its detail stands.
    pub(super) fn warning(
        &mut self,
        code: WarningCode,
        position: Option<u64>,
        offset_bytes: u64,
        excerpt: Range<usize>,
    ) {
        self.items.push(Item::Warning { code, position, offset_bytes, excerpt });
    }

    pub(super) fn progress(&mut self, plain_bytes: u64) {
        self.items.push(Item::Progress { plain_bytes });
    }

    /// Gives everything to `sink`, until it asks to stop.
    pub(super) fn deliver(&self, sink: &mut dyn TraceSink) -> Result<(), FormatError> {
        for item in &self.items {
            match item {
                Item::Event(event) => self.deliver_event(event, sink),
                &Item::Header { start, key, value } => {
                    let text = &self.text[start..];
                    sink.header(&key.text(text), &value.value(text, false));
                }
                &Item::Warning { code, position, offset_bytes, ref excerpt } => {
                    let detail = self.text[excerpt.clone()].into();
                    sink.warning(&Warning { code, position, offset_bytes, detail });
                }
                &Item::Progress { plain_bytes } => {
                    if !sink.progress(plain_bytes) {
                        return Err(FormatError::Stopped);
                    }
                }
            }
        }
        Ok(())
    }

    fn deliver_event(&self, event: &ScannedEvent, sink: &mut dyn TraceSink) {
        let text = &self.text[event.start..];
        let value = |field: Field| event.fields[field as usize].value(text, event.is_lenient);
        let time = |field: Field| time(event.fields[field as usize], text, event.is_lenient);
        let slots = &self.args[event.args_start as usize..event.args_end as usize];
        let args = ScannedArgs { text, slots, is_lenient: event.is_lenient };
        let phase = value(Field::Phase);
        sink.event(&Event {
            position: event.position,
            offset_bytes: event.offset_bytes,
            phase: phase.as_text().and_then(Phase::from_text),
            recorded_phase: phase,
            category: value(Field::Category),
            kind: None,
            name: value(Field::Name),
            start: time(Field::Ts),
            dur: time(Field::Dur),
            track: None,
            process: value(Field::Process),
            thread: value(Field::Thread),
            id: value(Field::Id),
            args: Args::from_lazy(&args),
            shape: event.shape,
        });
    }
}

/// Delivers on the thread that scans.
pub(super) struct Direct<'s>(pub(super) &'s mut dyn TraceSink);

impl Outlet for Direct<'_> {
    fn pass(&mut self, mut batch: Batch) -> Result<Batch, FormatError> {
        batch.deliver(self.0)?;
        batch.clear();
        Ok(batch)
    }
}
