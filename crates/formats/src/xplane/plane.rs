//! Reads one plane up to its end: what it says of its events is kept, and the events are put aside until then, because
//! their names come behind them.

use std::fs::File;
use std::io::{self, Read as _};

use stepscope_model::warning::{BROKEN_LINE, BROKEN_PLANE, EVENT_TOO_LONG};

use super::Teller;
use super::metadata::{EventKind, Faults, Metadata, Stat, StatValue};
use super::wire::{Broken, Fields, Item, Stream, StreamField, Wire, varint};
use crate::error::FormatError;
use crate::registry::Limits;
use crate::spool::{Spool, SpoolReader};

/// Bytes of a stat that are looked at; a larger one holds a description that is only counted.
const STAT_BYTES: u64 = 1 << 20;

/// A plane that was read.
#[derive(Debug, Default)]
pub(super) struct Plane {
    id: i64,
    pub name: String,
    pub lines: Vec<Line>,
    pub metadata: Metadata,
    /// The events of all lines, one after the other.
    events: Spool,
}

/// A line without its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub id: i64,
    pub name: String,
    pub timestamp_ns: i64,
    /// Where it starts in the plain bytes.
    pub offset_bytes: u64,
    /// Bytes of its events where they were put aside.
    spooled_bytes: u64,
    pub events: u64,
}

impl Plane {
    /// Forgets a plane, so that its memory serves the next one.
    pub(super) fn clear(&mut self) {
        self.id = 0;
        self.name.clear();
        self.lines.clear();
        self.metadata = Metadata::default();
        self.events.clear();
    }

    /// Reads the plane that ends at `end`, or where the input does.
    pub(super) fn read(
        &mut self,
        stream: &mut Stream<'_>,
        end: u64,
        teller: &mut Teller<'_>,
    ) -> Result<(), FormatError> {
        loop {
            let field = match stream.field(end)? {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(_) => {
                    teller.lose(BROKEN_PLANE, stream.offset_bytes, "");
                    break;
                }
            };
            let field_end = field_end(stream, field);
            let is_cut = field.key.wire == Wire::Bytes && (field_end > end);
            match (field.key.number, field.key.wire) {
                (1, Wire::Varint) => self.id = field.value.cast_signed(),
                (3, Wire::Bytes) => self.line(stream, field_end.min(end), teller)?,
                (2 | 4 | 5 | 6, Wire::Bytes) if !is_cut => self.detail(stream, field, field_end, teller)?,
                _ => {}
            }
            if field.key.wire == Wire::Bytes && (!stream.skip_to(field_end.min(end))? || is_cut) {
                teller.lose(BROKEN_PLANE, stream.offset_bytes, "");
                break;
            }
            teller.progress(stream.offset_bytes)?;
        }
        stream.skip_to(end)?;
        Ok(())
    }

    fn detail(
        &mut self,
        stream: &mut Stream<'_>,
        field: StreamField,
        end: u64,
        teller: &mut Teller<'_>,
    ) -> io::Result<()> {
        let mut faults = Faults::default();
        match field.key.number {
            2 => self.name = text(stream, field.value, &teller.limits, &mut faults)?,
            4 => {
                if let Some((key, kind)) = event_kind(stream, end, &teller.limits, &mut faults)? {
                    self.metadata.event_kinds.insert(key, kind);
                }
            }
            5 => {
                if let Some((key, name)) = stat_name(stream, end, &teller.limits, &mut faults)? {
                    self.metadata.stat_names.insert(key, name);
                }
            }
            _ => {
                if let Some(stat) = stat(stream, field.value, &teller.limits, &mut faults)? {
                    self.metadata.stats.push(stat);
                }
            }
        }
        teller.faults(faults, stream.offset_bytes);
        Ok(())
    }

    /// Reads a line: what it says of itself is kept, its events are put aside.
    fn line(&mut self, stream: &mut Stream<'_>, end: u64, teller: &mut Teller<'_>) -> Result<(), FormatError> {
        let mut line = Line { offset_bytes: stream.offset_bytes, ..Line::default() };
        let mut faults = Faults::default();
        loop {
            let field = match stream.field(end)? {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(_) => {
                    teller.lose(BROKEN_LINE, stream.offset_bytes, "");
                    break;
                }
            };
            let field_end = field_end(stream, field);
            if field.key.wire == Wire::Bytes && field_end > end {
                teller.lose(BROKEN_LINE, stream.offset_bytes, "");
                break;
            }
            match (field.key.number, field.key.wire) {
                (1, Wire::Varint) => line.id = field.value.cast_signed(),
                (3, Wire::Varint) => line.timestamp_ns = field.value.cast_signed(),
                (2, Wire::Bytes) => line.name = text(stream, field.value, &teller.limits, &mut faults)?,
                (4, Wire::Bytes) if field.value > teller.limits.max_event_bytes as u64 => {
                    teller.lose(EVENT_TOO_LONG, stream.offset_bytes, "");
                }
                (4, Wire::Bytes) => {
                    let length = field.value as usize;
                    let bytes = stream.bytes(length)?;
                    if bytes.len() == length {
                        line.spooled_bytes += put(&mut self.events, bytes, &mut || teller.sink.scratch_file())?;
                        line.events += 1;
                        stream.consume(length);
                    }
                }
                _ => {}
            }
            if field.key.wire == Wire::Bytes && !stream.skip_to(field_end)? {
                teller.lose(BROKEN_LINE, stream.offset_bytes, "");
                break;
            }
            teller.progress(stream.offset_bytes)?;
        }
        teller.faults(faults, line.offset_bytes);
        self.lines.push(line);
        Ok(())
    }

    /// What it is made of, as JSON.
    pub(super) fn as_json(&self) -> String {
        let name: String = self.name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
        let events: u64 = self.lines.iter().map(|line| line.events).sum();
        let (kinds, stats) = (self.metadata.event_kinds.len(), self.metadata.stat_names.len());
        format!(
            r#"{{"name":"{name}","id":{},"lines":{},"events":{events},"event_metadata":{kinds},"stat_metadata":{stats}}}"#,
            self.id,
            self.lines.len(),
        )
    }

    /// The plane's own words, and its events.
    pub(super) fn parts(&mut self) -> io::Result<(&str, &[Line], &Metadata, Events<'_>)> {
        let Self { name, lines, metadata, events, .. } = self;
        Ok((name, lines, metadata, Events { bytes: events.reader()?, buffer: Vec::new(), start: 0 }))
    }
}

/// Where a field with bytes ends.
pub(super) fn field_end(stream: &Stream<'_>, field: StreamField) -> u64 {
    match field.key.wire {
        Wire::Bytes => stream.offset_bytes.saturating_add(field.value),
        _ => stream.offset_bytes,
    }
}

/// Puts the bytes of an event aside, behind their length. Gives how many bytes that takes.
fn put(events: &mut Spool, bytes: &[u8], new_file: &mut dyn FnMut() -> io::Result<File>) -> io::Result<u64> {
    let mut length = [0; 10];
    let mut rest = bytes.len() as u64;
    let mut count = 0;
    while rest >= 0x80 {
        length[count] = rest as u8 | 0x80;
        rest >>= 7;
        count += 1;
    }
    length[count] = rest as u8;
    events.push(&length[..=count], new_file)?;
    events.push(bytes, new_file)?;
    Ok((count + 1 + bytes.len()) as u64)
}

/// Bytes of events that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The events of a plane, line by line.
pub(super) struct Events<'s> {
    bytes: SpoolReader<'s>,
    buffer: Vec<u8>,
    start: usize,
}

impl Events<'_> {
    /// Gives each event of the next line.
    pub(super) fn of_line(
        &mut self,
        line: &Line,
        mut give: impl FnMut(&[u8]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut left = line.spooled_bytes;
        while left > 0 {
            let (length, prefix) = loop {
                match varint(&self.buffer[self.start..]) {
                    Ok((length, prefix)) if self.buffer.len() - self.start >= prefix + length as usize => {
                        break (length as usize, prefix);
                    }
                    _ => self.fill()?,
                }
            };
            let from = self.start + prefix;
            give(&self.buffer[from..from + length])?;
            self.start = from + length;
            left = left.saturating_sub((prefix + length) as u64);
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        (&mut self.bytes).take(CHUNK_BYTES as u64).read_to_end(&mut self.buffer)?;
        if self.buffer.len() == before {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn text(stream: &mut Stream<'_>, length: u64, limits: &Limits, faults: &mut Faults) -> io::Result<String> {
    if length > limits.max_string_bytes as u64 {
        faults.long_texts += 1;
        return Ok(String::new());
    }
    let bytes = stream.bytes(length as usize)?;
    Ok(faults.text(bytes, limits.max_string_bytes).into_owned())
}

/// An entry of the map of event kinds, which ends at `end`. `None` if the input ends in it.
fn event_kind(
    stream: &mut Stream<'_>,
    end: u64,
    limits: &Limits,
    faults: &mut Faults,
) -> io::Result<Option<(i64, EventKind)>> {
    let (mut key, mut kind) = (0, EventKind::default());
    let is_whole = walk(stream, end, faults, &mut |stream, field, field_end, faults| {
        match (field.key.number, field.key.wire) {
            (1, Wire::Varint) => key = field.value.cast_signed(),
            (2, Wire::Bytes) => {
                kind = EventKind::default();
                walk(stream, field_end, faults, &mut |stream, field, _, faults| {
                    match (field.key.number, field.key.wire) {
                        (2, Wire::Bytes) => kind.name = text(stream, field.value, limits, faults)?,
                        (3, Wire::Bytes) => kind.described_bytes += field.value,
                        (4, Wire::Bytes) => kind.display_name = text(stream, field.value, limits, faults)?,
                        (5, Wire::Bytes) => kind.stats.extend(stat(stream, field.value, limits, faults)?),
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(is_whole.then_some((key, kind)))
}

/// An entry of the map of names of stats.
fn stat_name(
    stream: &mut Stream<'_>,
    end: u64,
    limits: &Limits,
    faults: &mut Faults,
) -> io::Result<Option<(i64, String)>> {
    let (mut key, mut name) = (0, String::new());
    let is_whole = walk(stream, end, faults, &mut |stream, field, field_end, faults| {
        match (field.key.number, field.key.wire) {
            (1, Wire::Varint) => key = field.value.cast_signed(),
            (2, Wire::Bytes) => {
                walk(stream, field_end, faults, &mut |stream, field, _, faults| {
                    if (field.key.number, field.key.wire) == (2, Wire::Bytes) {
                        name = text(stream, field.value, limits, faults)?;
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(is_whole.then_some((key, name)))
}

/// A stat of the plane or of a kind of event. `None` if the input ends in it.
fn stat(
    stream: &mut Stream<'_>,
    length: u64,
    limits: &Limits,
    faults: &mut Faults,
) -> io::Result<Option<Stat<'static>>> {
    if length <= STAT_BYTES {
        let bytes = stream.bytes(length as usize)?;
        let is_whole = bytes.len() as u64 == length;
        return Ok(is_whole.then(|| Stat::read(bytes, limits.max_string_bytes, faults).into_owned()));
    }
    let end = stream.offset_bytes.saturating_add(length);
    let mut stat = Stat { key: 0, value: StatValue::None };
    let is_whole = walk(stream, end, faults, &mut |stream, field, _, faults| {
        match (field.key.number, field.key.wire) {
            (1, Wire::Varint) => stat.key = field.value.cast_signed(),
            (5, Wire::Bytes) => stat.value = StatValue::Text(text(stream, field.value, limits, faults)?.into()),
            (6 | 8, Wire::Bytes) => stat.value = StatValue::Bytes(field.value),
            _ => {}
        }
        Ok(())
    })?;
    Ok(is_whole.then_some(stat))
}

/// What is done with a field: it may read the bytes of it, which end where the last number but one says.
type Take<'t> = dyn FnMut(&mut Stream<'_>, StreamField, u64, &mut Faults) -> io::Result<()> + 't;

/// Goes through the fields of a message that ends at `end`, which is then where the stream is. A tail that is broken is
/// left out. `false` if the input ends in it.
fn walk(stream: &mut Stream<'_>, end: u64, faults: &mut Faults, take: &mut Take<'_>) -> io::Result<bool> {
    loop {
        match stream.field(end)? {
            Ok(Some(field)) => {
                let field_end = field_end(stream, field);
                if field_end > end {
                    faults.broken_fields += 1;
                    break;
                }
                take(stream, field, field_end, faults)?;
                if field.key.wire == Wire::Bytes && !stream.skip_to(field_end)? {
                    return Ok(false);
                }
            }
            Ok(None) => break,
            Err(_) => {
                faults.broken_fields += 1;
                break;
            }
        }
    }
    stream.skip_to(end)
}

/// An event, but for its stats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub metadata: i64,
    pub offset_ps: i64,
    pub duration_ps: i64,
    /// How many it stands for, instead of when it was.
    pub occurrences: Option<i64>,
}

impl RawEvent {
    /// Reads an event; its stats go to `stats`.
    #[inline]
    pub(super) fn read<'a>(bytes: &'a [u8], mut take_stat: impl FnMut(&'a [u8])) -> Result<Self, Broken> {
        let mut event = Self::default();
        let mut fields = Fields(bytes);
        while let Some((number, item)) = fields.next()? {
            match (number, item) {
                (1, Item::Varint(id)) => event.metadata = id.cast_signed(),
                (2, Item::Varint(offset)) => (event.offset_ps, event.occurrences) = (offset.cast_signed(), None),
                (3, Item::Varint(duration)) => event.duration_ps = duration.cast_signed(),
                (4, Item::Bytes(stat)) => take_stat(stat),
                (5, Item::Varint(count)) => (event.offset_ps, event.occurrences) = (0, Some(count.cast_signed())),
                _ => {}
            }
        }
        Ok(event)
    }
}
