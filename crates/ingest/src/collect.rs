//! Takes events from a reader and keeps them as records.

use stepscope_formats::{Event, TraceSink, Value, Warning, microseconds_to_ns};
use stepscope_model::args::SpanArgColumn;
use stepscope_model::warning::{BAD_TIME, HEADER_BROKEN, METADATA, NEGATIVE_DURATION, UNSUPPORTED_PHASE, WarningCode};
use stepscope_model::{Kind, Phase};

use crate::args::{ArgSplitter, SplitArgs, find_cell, rest_json};
use crate::counts::{Counts, Place, plain};
use crate::header::Header;
use crate::identity::canonical;
use crate::names::Names;
use crate::pair::{End, OpenSpans};
use crate::record::{Args, Cell, CellValue, Counter, Flag, Flow, MemoryEvent, Span, TrackId, is_in_range};
use crate::strings::{Strings, TextId};
use crate::tracks::Tracks;

/// Arguments of a memory event that have a column.
const MEMORY_COLUMNS: [&str; 7] =
    ["Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved", "Ev Idx"];

/// The records of one source, as they come in.
#[derive(Debug)]
pub(crate) struct Records {
    pub strings: Strings,
    pub names: Names,
    pub tracks: Tracks,
    pub header: Header,
    pub counts: Counts,
    pub spans: Vec<Span>,
    pub cells: Vec<Cell>,
    pub flows: Vec<Flow>,
    pub counters: Vec<Counter>,
    pub memory: Vec<MemoryEvent>,
}

impl Records {
    /// The typed arguments of a span.
    pub(crate) fn cells_of(&self, args: Args) -> &[Cell] {
        let first = args.first_cell as usize;
        &self.cells[first..first + usize::from(args.cells)]
    }
}

/// Takes events from a reader and keeps them as records.
pub(crate) struct Collector<'a> {
    pub records: Records,
    pub open: OpenSpans,
    splitter: ArgSplitter,
    on_progress: &'a mut dyn FnMut(u64) -> bool,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(names: Names, on_progress: &'a mut dyn FnMut(u64) -> bool) -> Self {
        Self {
            records: Records {
                strings: Strings::default(),
                names,
                tracks: Tracks::default(),
                header: Header::default(),
                counts: Counts::default(),
                spans: Vec::new(),
                cells: Vec::new(),
                flows: Vec::new(),
                counters: Vec::new(),
                memory: Vec::new(),
            },
            open: OpenSpans::default(),
            splitter: ArgSplitter::new(),
            on_progress,
        }
    }

    fn drop_event(&mut self, event: &Event<'_>, code: WarningCode, about: &str, detail: Option<String>) {
        let place = Place { position: Some(event.position), offset_bytes: Some(event.offset_bytes) };
        self.records.counts.drop_event(code, about, place, detail);
    }

    /// The time of an event that has no duration; counts the event as dropped when it has none.
    fn instant(&mut self, event: &Event<'_>, phase: Phase) -> Option<i64> {
        let ts = nanoseconds(&event.ts);
        if ts.is_none() {
            self.drop_event(event, BAD_TIME, &format!(":{}", phase.as_text()), Some(describe(&event.ts)));
        }
        ts
    }

    fn complete(&mut self, event: &Event<'_>) {
        let (Some(start), Some(dur)) = (nanoseconds(&event.ts), nanoseconds(&event.dur)) else {
            let detail = format!("ts {}, dur {}", describe(&event.ts), describe(&event.dur));
            return self.drop_event(event, BAD_TIME, "", Some(detail));
        };
        if dur < 0 {
            return self.drop_event(event, NEGATIVE_DURATION, "", Some(describe(&event.dur)));
        }
        let Some(end) = start.checked_add(dur).filter(|&end| is_in_range(end)) else {
            return self.drop_event(event, BAD_TIME, "", Some("the end is out of range".to_owned()));
        };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        let mut span = self.span(event, Phase::Complete, track, start, end);
        span.kind = self.kind(event, span.name);
        if span.kind.is_device() {
            self.place_on_device(&mut span);
        }
        self.records.spans.push(span);
    }

    fn span(&mut self, event: &Event<'_>, phase: Phase, track: TrackId, start: i64, end: i64) -> Span {
        let category = self.text(&event.category);
        let name = self.text(&event.name);
        let (args, split) = self.args(event);
        let correlation = split.correlation.filter(|&id| id != 0);
        let external_id = split.external_id;
        let flag = matches!(phase, Phase::Instant | Phase::AsyncInstant).then_some(Flag::Instant);
        let kind = Kind::Other;
        Span {
            track,
            start,
            end,
            position: event.position,
            phase,
            flag,
            kind,
            category,
            name,
            correlation,
            external_id,
            args,
        }
    }

    fn args(&mut self, event: &Event<'_>) -> (Args, SplitArgs) {
        let first_cell = self.records.cells.len() as u64;
        let entries: Vec<_> = event.args.iter().collect();
        let split = self.splitter.split(&entries, &mut self.records.strings, &mut self.records.cells);
        let cells = (self.records.cells.len() as u64 - first_cell) as u8;
        (Args { first_cell, cells, rest: split.rest }, split)
    }

    fn kind(&mut self, event: &Event<'_>, name: Option<TextId>) -> Kind {
        let kind = event.category.as_text().map_or(Kind::Other, Kind::from_category);
        if kind == Kind::Op && self.records.names.facts(name, &self.records.strings).pseudo_op {
            Kind::Annotation
        } else {
            kind
        }
    }

    /// Old recordings tell device and stream only through `pid` and `tid`.
    fn place_on_device(&mut self, span: &mut Span) {
        let records = &mut self.records;
        let track = &mut records.tracks.list[span.track as usize];
        track.has_device_work = true;
        for (column, fallback) in
            [(SpanArgColumn::device_id, track.device_id), (SpanArgColumn::stream_id, track.stream_id)]
        {
            let first = span.args.first_cell as usize;
            if let (None, Some(value)) = (find_cell(&records.cells[first..], column), fallback) {
                records.cells.push(Cell { column, value: CellValue::Int(value) });
                span.args.cells += 1;
            }
        }
    }

    fn memory_event(&mut self, event: &Event<'_>) {
        let Some(ts) = nanoseconds(&event.ts) else {
            return self.drop_event(event, BAD_TIME, "", Some(describe(&event.ts)));
        };
        let entries: Vec<_> = event.args.iter().collect();
        let integer = |key: &str| event.args.last(key).and_then(|value| value.as_i64());
        // An integer that does not fit its column stays readable in the JSON rest.
        let known: Vec<&str> = MEMORY_COLUMNS.into_iter().filter(|key| integer(key).is_some()).collect();
        let record = MemoryEvent {
            track: self.records.tracks.thread(event, &mut self.records.strings),
            ts,
            position: event.position,
            size_bytes: integer("Bytes"),
            address: integer("Addr"),
            device_type: integer("Device Type"),
            device_id: integer("Device Id"),
            total_allocated_bytes: integer("Total Allocated"),
            total_reserved_bytes: integer("Total Reserved"),
            event_index: integer("Ev Idx"),
            args: rest_json(&entries, &known, &mut self.records.strings),
            operator: None,
        };
        self.records.memory.push(record);
    }

    fn counter(&mut self, event: &Event<'_>) {
        let Some(ts) = self.instant(event, Phase::Counter) else { return };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        let name = self.text(&event.name);
        let entries: Vec<_> = event.args.iter().collect();
        let (series, value, args) = match entries.as_slice() {
            [(series, value)] if value.as_f64().is_some() => {
                (Some(self.records.strings.intern(series)), value.as_f64(), None)
            }
            args => (None, None, rest_json(args, &[], &mut self.records.strings)),
        };
        self.records.counters.push(Counter { track, ts, position: event.position, name, series, value, args });
    }

    fn flow(&mut self, event: &Event<'_>, phase: Phase) {
        let Some(ts) = self.instant(event, phase) else { return };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        let category = self.text(&event.category);
        let name = self.text(&event.name);
        let id_text = canonical(&event.id);
        let id = id_text.as_deref().and_then(integer_id);
        let id_text = if id.is_some() { None } else { id_text.map(|text| self.records.strings.intern(&text)) };
        self.records.flows.push(Flow {
            track,
            ts,
            position: event.position,
            phase,
            category,
            name,
            id,
            id_text,
            span: None,
        });
    }

    fn async_event(&mut self, event: &Event<'_>, phase: Phase) {
        let Some(ts) = self.instant(event, phase) else { return };
        let category = self.text(&event.category);
        let id = canonical(&event.id).map(|text| self.records.strings.intern(&text));
        let track = self.records.tracks.lane(category, id);
        match phase {
            Phase::AsyncBegin => {
                let span = self.span(event, phase, track, ts, ts);
                self.open.begin(span);
            }
            Phase::AsyncEnd => self.end(event, track, ts),
            _ => {
                let span = self.span(event, phase, track, ts, ts);
                self.records.spans.push(span);
            }
        }
    }

    fn thread_mark(&mut self, event: &Event<'_>, phase: Phase) {
        let Some(ts) = self.instant(event, phase) else { return };
        let track = self.records.tracks.thread(event, &mut self.records.strings);
        if phase == Phase::End {
            return self.end(event, track, ts);
        }
        let span = self.span(event, phase, track, ts, ts);
        if phase == Phase::Begin { self.open.begin(span) } else { self.records.spans.push(span) }
    }

    fn end(&mut self, event: &Event<'_>, track: TrackId, ts: i64) {
        let (args, _) = self.args(event);
        self.open.end(End { track, ts, position: event.position, offset_bytes: event.offset_bytes, args });
    }

    /// A name or a category; a number in their place is kept as its text.
    fn text(&mut self, value: &Value<'_>) -> Option<TextId> {
        match value {
            Value::Missing | Value::Null => None,
            Value::Text(text) => Some(self.records.strings.intern(text)),
            other => Some(self.records.strings.intern(&plain(other))),
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
        let counts = &mut self.records.counts;
        counts.events_in += 1;
        counts.count_kind(&event.phase, &event.category);
        let phase_text = event.phase.as_text();
        let Some(phase) = phase_text.and_then(Phase::from_text) else {
            return self.drop_event(event, UNSUPPORTED_PHASE, &plain(&event.phase), None);
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
            }
        }
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
        (self.on_progress)(plain_bytes)
    }
}

fn nanoseconds(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(text) => microseconds_to_ns(text).filter(|&time| is_in_range(time)),
        _ => None,
    }
}

/// The integer behind the id of an arrow; Chrome writes them in hexadecimal.
fn integer_id(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|id| id as i64),
        None => crate::identity::integer(text),
    }
}

fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Missing => "is missing".to_owned(),
        Value::Null => "is null or not a number".to_owned(),
        other => plain(other).chars().take(80).collect(),
    }
}
