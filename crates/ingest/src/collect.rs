//! Takes events from a reader and keeps them as records, sorted.

mod args;
pub(crate) mod categories;
pub(crate) mod counts;
pub(crate) mod functions;
pub(crate) mod header;
mod identity;
mod lanes;
pub(crate) mod names;
pub(crate) mod pair;
pub(crate) mod record;
pub(crate) mod shift;
pub(crate) mod stacks;
pub(crate) mod tracks;

use std::fs::File;
use std::io;
use std::sync::Arc;

use stepscope_formats::{
    Event, Frame, FunctionTotals, MemoryBlock, MemoryChange, MemorySegment, Program, Time, TraceSink, Track, Value,
    Warning,
};
use stepscope_model::args::SpanArgColumn;
use stepscope_model::warning::{BAD_TIME, HEADER_BROKEN, METADATA, NEGATIVE_DURATION, UNSUPPORTED_PHASE, WarningCode};
use stepscope_model::{Kind, Phase};

use self::args::{ArgSplitter, rest_json};
use self::counts::{Counts, Place, plain};
use self::functions::Functions;
use self::header::Header;
use self::identity::{canonical, integer};
use self::names::{NameFacts, Names};
use self::pair::Mark;
use self::record::{
    CellValue, CounterHead, Flag, FlowHead, MemoryHead, MomentKey, SpanHead, SpanKey, SpanRecord, TrackId, is_in_range,
};
use self::stacks::Snapshot;
use self::tracks::Tracks;
use crate::derive::memory_level::LevelsByDevice;
use crate::error::IngestError;
use crate::spill::row::Field;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::Sorter;
use crate::spill::strings::{Strings, Text, TextId};

/// Arguments of a memory event that have a column.
const MEMORY_COLUMNS: [&str; 7] =
    ["Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved", "Ev Idx"];

/// The records of one source, as they come in. Times are as recorded: the base time may come last.
#[derive(Debug)]
pub(crate) struct Records {
    pub strings: Strings,
    pub names: Names,
    pub tracks: Tracks,
    pub header: Header,
    pub counts: Counts,
    pub spans: Sorter<SpanKey>,
    pub flows: Sorter<MomentKey>,
    pub counters: Sorter<MomentKey>,
    pub memory: Sorter<MomentKey>,
    pub functions: Functions,
    /// Programs that were compiled.
    pub programs: Vec<ToldProgram>,
    pub snapshot: Snapshot,
    /// How much memory the changes of a snapshot add up to.
    pub levels: LevelsByDevice,
    /// Start of the first and end of the last complete event.
    pub time_range: Option<(i64, i64)>,
    /// The first and the last time of all.
    pub times: Option<(i64, i64)>,
}

/// A program that was compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldProgram {
    pub id: i64,
    pub name: TextId,
    pub bytes: u64,
}

impl Records {
    /// Adds a span.
    pub(crate) fn push_span(
        &mut self,
        key: SpanKey,
        put: impl FnOnce(&mut Vec<u8>),
        is_complete_event: bool,
    ) -> Result<(), IngestError> {
        let (start, end) = (key.start, key.end());
        if is_complete_event {
            self.time_range =
                Some(self.time_range.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
        self.see(start);
        self.see(end);
        self.tracks.list[key.track as usize].reaches(end);
        self.spans.push_with(key, put)
    }

    fn see(&mut self, time: i64) {
        self.times = Some(self.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
    }
}

/// Takes events from a reader and keeps them as records.
pub(crate) struct Collector<'a> {
    pub records: Records,
    /// Beginnings and ends that have to be paired.
    pub marks: Sorter<MomentKey>,
    /// What ended the collecting early.
    pub error: Option<IngestError>,
    splitter: ArgSplitter,
    categories: Vec<KnownCategory>,
    /// Texts of the current event that have no number.
    behind: Vec<u8>,
    scratch: Arc<Scratch>,
    on_progress: &'a mut dyn FnMut(u64) -> bool,
}

/// A category and what it stands for.
struct KnownCategory {
    category: String,
    text: Text,
    kind: Kind,
}

/// Categories that are remembered, the last one first. There are about ten in a trace.
const KNOWN_CATEGORIES: usize = 16;

impl<'a> Collector<'a> {
    pub(crate) fn new(names: Names, scratch: &Arc<Scratch>, on_progress: &'a mut dyn FnMut(u64) -> bool) -> Self {
        let records = Records {
            strings: Strings::new(scratch),
            names,
            tracks: Tracks::default(),
            header: Header::default(),
            counts: Counts::default(),
            spans: Sorter::new(scratch),
            flows: Sorter::new(scratch),
            counters: Sorter::new(scratch),
            memory: Sorter::new(scratch),
            functions: Functions::new(scratch),
            programs: Vec::new(),
            snapshot: Snapshot::new(scratch),
            levels: LevelsByDevice::default(),
            time_range: None,
            times: None,
        };
        Self {
            records,
            marks: Sorter::new(scratch),
            error: None,
            splitter: ArgSplitter::new(),
            categories: Vec::new(),
            behind: Vec::new(),
            scratch: Arc::clone(scratch),
            on_progress,
        }
    }

    fn drop_event(&mut self, event: &Event<'_>, code: WarningCode, about: &str, detail: Option<String>) {
        let place = Place { position: Some(event.position), offset_bytes: Some(event.offset_bytes) };
        self.records.counts.drop_event(code, about, place, detail);
    }

    /// The time of an event that has no duration; counts the event as dropped when it has none.
    fn instant(&mut self, event: &Event<'_>, phase: Phase) -> Option<i64> {
        let ts = in_range(&event.start);
        if ts.is_none() {
            self.drop_event(event, BAD_TIME, &format!(":{}", phase.as_text()), Some(describe_time(&event.start)));
        }
        ts.inspect(|&time| self.records.see(time))
    }

    fn complete(&mut self, event: &Event<'_>) -> Result<(), IngestError> {
        let (Some(start), Some(dur)) = (in_range(&event.start), in_range(&event.dur)) else {
            let detail = format!("ts {}, dur {}", describe_time(&event.start), describe_time(&event.dur));
            self.drop_event(event, BAD_TIME, "", Some(detail));
            return Ok(());
        };
        if dur < 0 {
            self.drop_event(event, NEGATIVE_DURATION, "", Some(describe_time(&event.dur)));
            return Ok(());
        }
        let Some(end) = start.checked_add(dur).filter(|&end| is_in_range(end)) else {
            self.drop_event(event, BAD_TIME, "", Some("the end is out of range".to_owned()));
            return Ok(());
        };
        let track = self.records.tracks.of_event(event, &mut self.records.strings);
        let (mut head, kind) = self.head(event, Phase::Complete);
        head.kind = match event.kind {
            Some(kind) => kind,
            None if kind == Kind::Op && head.facts.has(NameFacts::PSEUDO_OP) => Kind::Annotation,
            None => kind,
        };
        if head.kind.is_device() {
            self.place_on_device(track);
        } else if matches!(head.kind, Kind::Op | Kind::Runtime | Kind::Python) {
            self.records.tracks.list[track as usize].host_spans += 1;
        }
        self.push(track, (start, end), event.position, head)
    }

    fn push(&mut self, track: TrackId, times: (i64, i64), position: u64, head: SpanHead) -> Result<(), IngestError> {
        let key = SpanKey::new(track, times, position, &head, self.splitter.id_order());
        let (cells, behind) = (self.splitter.cells(), &self.behind);
        let put = |out: &mut Vec<u8>| SpanRecord::write(head, cells, behind, out);
        self.records.push_span(key, put, head.phase == Phase::Complete)
    }

    /// What a span is, and the kind that its category stands for. Its arguments are then in the splitter.
    fn head(&mut self, event: &Event<'_>, phase: Phase) -> (SpanHead, Kind) {
        self.behind.clear();
        let (category, kind) = self.category(&event.category);
        let name = self.text(&event.name);
        let split = self.splitter.split(event.args, event.shape, &mut self.records.strings, &mut self.behind);
        let mut facts = self.facts(&event.name, name).but(NameFacts::HLO_COLLECTIVE);
        if let Some(kind) = event.kind {
            facts = facts.and(event.category.as_text().map(NameFacts::of_category).unwrap_or_default());
            if kind == Kind::Kernel && self.is_hlo_collective(event) {
                facts = facts.and(NameFacts::HLO_COLLECTIVE);
            }
        }
        let head = SpanHead {
            kind: Kind::Other,
            phase,
            flag: matches!(phase, Phase::Instant | Phase::AsyncInstant).then_some(Flag::Instant),
            facts,
            is_module: split.is_module,
            names_collective: split.names_collective,
            category,
            name,
            rest: split.rest,
            correlation: split.correlation.filter(|&id| id != 0),
            external_id: split.external_id,
            cells: 0,
        };
        (head, kind)
    }

    fn facts(&mut self, name: &Value<'_>, text: Option<Text>) -> NameFacts {
        let id = match text {
            None => return NameFacts::default(),
            Some(Text::Id(id)) => Some(id),
            Some(Text::Behind { .. }) => None,
        };
        match name {
            Value::Text(name) => self.records.names.facts(id, name),
            other => self.records.names.facts(id, &plain(other)),
        }
    }

    /// Whether the current event is a collective of XLA: by its category, its operation, or the name that is this.
    fn is_hlo_collective(&mut self, event: &Event<'_>) -> bool {
        let Self { splitter, records, behind, .. } = self;
        let Records { strings, names, .. } = records;
        let columns = [SpanArgColumn::hlo_category, SpanArgColumn::hlo_op];
        let of_cell = splitter.cells().iter().filter(|cell| columns.contains(&cell.column)).any(|cell| {
            let CellValue::Text(text) = cell.value else { return false };
            let id = if let Text::Id(id) = text { Some(id) } else { None };
            names.facts(id, strings.resolve(text, behind)).has(NameFacts::HLO_COLLECTIVE)
        });
        let is_operation = event.category.as_text() == Some("hlo_op");
        let name = event.name.as_text().filter(|_| is_operation);
        of_cell || name.is_some_and(|name| names.facts(None, name).has(NameFacts::HLO_COLLECTIVE))
    }

    /// Old recordings tell device and stream only through `pid` and `tid`.
    fn place_on_device(&mut self, track: TrackId) {
        let track = &mut self.records.tracks.list[track as usize];
        track.has_device_work = true;
        self.splitter.add_if_missing(SpanArgColumn::device_id, track.device_id);
        self.splitter.add_if_missing(SpanArgColumn::stream_id, track.stream_id);
    }

    fn memory_event(&mut self, event: &Event<'_>) -> Result<(), IngestError> {
        let Some(ts) = in_range(&event.start) else {
            self.drop_event(event, BAD_TIME, "", Some(describe_time(&event.start)));
            return Ok(());
        };
        self.records.see(ts);
        let integer = |key: &str| {
            let value = event.args.last(key)?;
            // Addresses are unsigned: the upper half of them has the same bits as a negative number.
            let is_address = key == "Addr";
            value.as_i64().or_else(|| value.as_u64().filter(|_| is_address).map(u64::cast_signed))
        };
        // An integer that does not fit its column stays readable in the JSON rest.
        let known: Vec<&str> = MEMORY_COLUMNS.into_iter().filter(|key| integer(key).is_some()).collect();
        self.behind.clear();
        let head = MemoryHead {
            ts_ns: Some(ts),
            size_bytes: integer("Bytes"),
            address: integer("Addr"),
            device_type: integer("Device Type"),
            device_id: integer("Device Id"),
            total_allocated_bytes: integer("Total Allocated"),
            total_reserved_bytes: integer("Total Reserved"),
            event_index: integer("Ev Idx"),
            args: rest_json(event.args, &known, &mut self.records.strings, &mut self.behind),
            ..MemoryHead::default()
        };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        let key = MomentKey { track, ts, position: event.position };
        self.records.memory.push_with(key, |out| put_record(head, &self.behind, out))
    }

    /// A change of memory that the reader tells as such.
    fn change_memory(&mut self, change: &MemoryChange<'_>) -> Result<(), IngestError> {
        self.records.counts.events_in += 1;
        let place = Place { position: Some(change.position), offset_bytes: Some(change.offset_bytes) };
        if change.ts_ns.is_some_and(|ts| !is_in_range(ts)) {
            self.records.counts.drop_event(BAD_TIME, "", place, None);
            return Ok(());
        }
        if let Some(ts) = change.ts_ns {
            self.records.see(ts);
        }
        self.behind.clear();
        let (strings, behind) = (&mut self.records.strings, &mut self.behind);
        let mut text = |text: Option<&str>| text.map(|text| strings.text(text, behind));
        let (action, allocator, category) = (text(change.action), text(change.allocator), text(change.category));
        let head = MemoryHead {
            ts_ns: change.ts_ns,
            size_bytes: change.size_bytes,
            address: change.address.map(u64::cast_signed),
            device_type: change.device_type,
            device_id: change.device_id,
            total_allocated_bytes: change.total_allocated_bytes,
            action,
            allocator,
            category,
            stream_id: change.stream_id,
            stack_id: change.stack.map(i64::from),
            args: rest_json(change.args, &[], strings, behind),
            ..MemoryHead::default()
        };
        let track = self.records.tracks.told(change.track);
        let keeps_order = self.records.tracks.keeps_order(track);
        if let Some(ts) = change.ts_ns.filter(|_| keeps_order) {
            let range = &mut self.records.time_range;
            *range = Some(range.map_or((ts, ts), |(first, last)| (first.min(ts), last.max(ts))));
        }
        if let (true, Some(device), Some(action)) = (keeps_order, change.device_id, change.action) {
            self.records.levels.add_change(device, action, change.size_bytes.unwrap_or(0));
        }
        let ts = change.ts_ns.filter(|_| !keeps_order).unwrap_or(0);
        let key = MomentKey { track, ts, position: change.position };
        self.records.memory.push_with(key, |out| put_record(head, &self.behind, out))
    }

    fn counter(&mut self, event: &Event<'_>) -> Result<(), IngestError> {
        let Some(ts) = self.instant(event, Phase::Counter) else { return Ok(()) };
        let track = self.records.tracks.of_event(event, &mut self.records.strings);
        self.behind.clear();
        let name = self.text(&event.name);
        let (strings, behind) = (&mut self.records.strings, &mut self.behind);
        let only = (event.args.len() == 1).then(|| event.args.value(0).as_f64()).flatten();
        let (series, args) = match only {
            Some(_) => (Some(strings.text(&event.args.key(0), behind)), None),
            None => (None, rest_json(event.args, &[], strings, behind)),
        };
        let value_bits = only.map(|value| value.to_bits().cast_signed());
        let head = CounterHead { name, series, value_bits, args };
        let key = MomentKey { track, ts, position: event.position };
        self.records.counters.push_with(key, |out| put_record(head, &self.behind, out))
    }

    fn flow(&mut self, event: &Event<'_>, phase: Phase) -> Result<(), IngestError> {
        let Some(ts) = self.instant(event, phase) else { return Ok(()) };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        self.behind.clear();
        let (category, _) = self.category(&event.category);
        let name = self.text(&event.name);
        let id_text = canonical(&event.id);
        let id = id_text.as_deref().and_then(flow_id);
        let id_text = if id.is_some() { None } else { id_text };
        let id_text = id_text.map(|text| self.records.strings.text(&text, &mut self.behind));
        let is_forward_backward = [&event.category, &event.name].iter().any(|value| value.as_text() == Some("fwdbwd"));
        let head = FlowHead { phase, is_forward_backward, category, name, id, id_text };
        let key = MomentKey { track, ts, position: event.position };
        self.records.flows.push_with(key, |out| put_record(head, &self.behind, out))
    }

    fn async_event(&mut self, event: &Event<'_>, phase: Phase) -> Result<(), IngestError> {
        let Some(ts) = self.instant(event, phase) else { return Ok(()) };
        let strings = &mut self.records.strings;
        let category = name_text(&event.category).map(|text| strings.intern(&text));
        let id = canonical(&event.id).map(|text| strings.intern(&text));
        let track = self.records.tracks.lane(category, id);
        self.mark(event, phase, track, ts)
    }

    fn thread_mark(&mut self, event: &Event<'_>, phase: Phase) -> Result<(), IngestError> {
        let Some(ts) = self.instant(event, phase) else { return Ok(()) };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        self.mark(event, phase, track, ts)
    }

    /// An instant is a span of its own; beginnings and ends wait for each other.
    fn mark(&mut self, event: &Event<'_>, phase: Phase, track: TrackId, ts: i64) -> Result<(), IngestError> {
        let (head, _) = self.head(event, phase);
        if matches!(phase, Phase::Instant | Phase::AsyncInstant) {
            return self.push(track, (ts, ts), event.position, head);
        }
        self.records.tracks.list[track as usize].reaches(ts);
        let is_end = matches!(phase, Phase::End | Phase::AsyncEnd);
        let mark = Mark { offset_bytes: event.offset_bytes, is_end, order: self.splitter.id_order() };
        let (cells, behind) = (self.splitter.cells(), &self.behind);
        self.marks.push_with(MomentKey { track, ts, position: event.position }, |out| {
            mark.put(out);
            SpanRecord::write(head, cells, behind, out);
        })
    }

    fn category(&mut self, value: &Value<'_>) -> (Option<Text>, Kind) {
        let Some(category) = name_text(value) else { return (None, Kind::Other) };
        if let Some(index) = self.categories.iter().position(|known| known.category == category) {
            self.categories.swap(0, index);
            let known = &self.categories[0];
            return (Some(known.text), known.kind);
        }
        let kind = value.as_text().map_or(Kind::Other, Kind::from_category);
        let text = self.records.strings.text(&category, &mut self.behind);
        if matches!(text, Text::Id(_)) && value.as_text().is_some() {
            self.categories.truncate(KNOWN_CATEGORIES - 1);
            self.categories.insert(0, KnownCategory { category: category.into_owned(), text, kind });
        }
        (Some(text), kind)
    }

    fn text(&mut self, value: &Value<'_>) -> Option<Text> {
        name_text(value).map(|text| self.records.strings.text(&text, &mut self.behind))
    }

    fn take(&mut self, event: &Event<'_>) -> Result<(), IngestError> {
        let counts = &mut self.records.counts;
        counts.events_in += 1;
        counts.count_kind(&event.recorded_phase, &event.category);
        let Some(phase) = event.phase else {
            self.drop_event(event, UNSUPPORTED_PHASE, &plain(&event.recorded_phase), None);
            return Ok(());
        };
        match phase {
            Phase::Complete => self.complete(event),
            Phase::Instant if event.name.as_text() == Some("[memory]") => self.memory_event(event),
            Phase::Instant | Phase::Begin | Phase::End => self.thread_mark(event, phase),
            Phase::AsyncBegin | Phase::AsyncInstant | Phase::AsyncEnd => self.async_event(event, phase),
            Phase::Counter => self.counter(event),
            Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd => self.flow(event, phase),
            Phase::Metadata => {
                self.records.tracks.name(event, &mut self.records.strings);
                self.drop_event(event, METADATA, "", None);
                Ok(())
            }
        }
    }
}

impl TraceSink for Collector<'_> {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        if !self.records.header.take(key, value) {
            self.records.counts.warn(HEADER_BROKEN, Place::default(), Some(format!("{key}: {}", describe(value))));
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.error.is_none() {
            self.error = self.take(event).err();
        }
    }

    fn function(&mut self, function: &FunctionTotals) {
        if self.error.is_none() {
            self.records.counts.events_in += 1;
            self.error = self.records.functions.push(function, &mut self.records.strings).err();
        }
    }

    fn track(&mut self, track: &Track<'_>) {
        self.records.tracks.tell(track, &mut self.records.strings);
    }

    fn program(&mut self, program: &Program<'_>) {
        let name = self.records.strings.intern(program.name);
        self.records.programs.push(ToldProgram { id: program.id, name, bytes: program.bytes });
    }

    fn memory_change(&mut self, change: &MemoryChange<'_>) {
        if self.error.is_none() {
            self.error = self.change_memory(change).err();
        }
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.records.snapshot.frame(frame, &mut self.records.strings);
    }

    fn stack(&mut self, frames: &[u32]) {
        self.records.snapshot.stack(frames);
    }

    fn memory_segment(&mut self, segment: &MemorySegment<'_>) {
        self.records.snapshot.segment(segment, &mut self.records.strings);
    }

    fn memory_block(&mut self, block: &MemoryBlock) {
        if self.error.is_none() {
            self.error = self.records.snapshot.block(block).err();
        }
    }

    fn scratch_file(&mut self) -> io::Result<File> {
        self.scratch.file().map_err(|error| match error {
            IngestError::Spill { source, .. } => source,
            other => io::Error::other(other),
        })
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        let place = Place { position: warning.position, offset_bytes: Some(warning.offset_bytes) };
        let detail = Some(warning.detail.to_string()).filter(|detail| !detail.is_empty());
        let counts = &mut self.records.counts;
        if warning.code.is_loss {
            counts.events_in += 1;
            counts.drop_event(warning.code, "", place, detail);
        } else {
            counts.warn(warning.code, place, detail);
        }
    }

    fn progress(&mut self, plain_bytes: u64) -> bool {
        self.error.is_none() && (self.on_progress)(plain_bytes)
    }
}

/// Appends a record whose head is followed by texts that have no number.
fn put_record(head: impl Field, behind: &[u8], out: &mut Vec<u8>) {
    head.put(out);
    out.extend_from_slice(behind);
}

/// A name or a category; a number in their place is kept as its text.
fn name_text<'v>(value: &'v Value<'_>) -> Option<std::borrow::Cow<'v, str>> {
    match value {
        Value::Missing | Value::Null => None,
        Value::Text(text) => Some(std::borrow::Cow::Borrowed(text)),
        other => Some(plain(other)),
    }
}

fn in_range(time: &Time<'_>) -> Option<i64> {
    time.ns.filter(|&ns| is_in_range(ns))
}

/// The integer behind the id of an arrow; Chrome writes them in hexadecimal.
fn flow_id(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|id| id as i64),
        None => integer(text),
    }
}

fn describe_time(time: &Time<'_>) -> String {
    match (time.ns, &time.recorded) {
        (Some(ns), Value::Missing) => format!("{ns} ns"),
        (_, recorded) => describe(recorded),
    }
}

fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Missing => "is missing".to_owned(),
        Value::Null => "is null or not a number".to_owned(),
        other => plain(other).chars().take(80).collect(),
    }
}
