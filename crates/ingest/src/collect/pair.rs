//! Pairs the beginnings and ends of spans: last in, first out, on each track, in the order of time.

use stepscope_model::warning::{OPEN_END, PAIRED_END, UNMATCHED_END};

use super::Records;
use super::args::join_json;
use super::counts::Place;
use super::record::{Cell, CellValue, Flag, IdOrder, MomentKey, SpanHead, SpanKey, SpanRecord};
use crate::error::IngestError;
use crate::spill::row::{Field, row};
use crate::spill::sorter::Sorted;
use crate::spill::strings::Text;

row! {
    /// What stands before the record of a beginning or an end.
    Mark { offset_bytes: u64, is_end: bool, order: IdOrder, }
}

/// A beginning that waits for its end.
struct Begin {
    key: MomentKey,
    order: IdOrder,
    record: Vec<u8>,
}

/// Adds every pair to the records as one span. An end alone is dropped; a beginning alone lasts to the last event of
/// its track.
pub(crate) fn pair(records: &mut Records, marks: &Sorted<MomentKey>) -> Result<(), IngestError> {
    let mut open: Vec<Begin> = Vec::new();
    let mut reader = marks.reader()?;
    while let Some((key, mut bytes)) = reader.next()? {
        if open.first().is_some_and(|first| first.key.track != key.track) {
            close_open(&mut open, records)?;
        }
        let mark = Mark::take(&mut bytes);
        if mark.is_end {
            close(open.pop(), key, mark, bytes, records)?;
        } else {
            open.push(Begin { key, order: mark.order, record: bytes.to_vec() });
        }
    }
    close_open(&mut open, records)
}

fn close(
    begin: Option<Begin>,
    end_key: MomentKey,
    mark: Mark,
    end: &[u8],
    records: &mut Records,
) -> Result<(), IngestError> {
    let place = Place { position: Some(end_key.position), offset_bytes: Some(mark.offset_bytes) };
    let Some(begin) = begin else {
        records.counts.drop_event(UNMATCHED_END, "", place, None);
        return Ok(());
    };
    records.counts.drop_event(PAIRED_END, "", place, None);
    let (first, second) = (SpanRecord::read(&begin.record), SpanRecord::read(end));
    if second.head.cells == 0 && second.head.rest.is_none() {
        let record = &begin.record;
        return push(records, &begin, end_key.ts, &first.head, |out| out.extend_from_slice(record));
    }
    let (head, cells, texts) = join(&first, &second, records);
    push(records, &begin, end_key.ts, &head, |out| SpanRecord::write(head, &cells, &texts, out))
}

fn close_open(open: &mut Vec<Begin>, records: &mut Records) -> Result<(), IngestError> {
    for begin in open.drain(..) {
        let record = SpanRecord::read(&begin.record);
        let last = records.tracks.list[begin.key.track as usize].last_end.unwrap_or(begin.key.ts);
        let place = Place { position: Some(begin.key.position), offset_bytes: None };
        let name = record.head.name.map(|name| records.strings.resolve(name, record.texts).to_owned());
        records.counts.warn(OPEN_END, place, name);
        let head = SpanHead { flag: Some(Flag::OpenEnd), ..record.head };
        let cells: Vec<Cell> = record.cells().collect();
        let put = |out: &mut Vec<u8>| SpanRecord::write(head, &cells, record.texts, out);
        push(records, &begin, last.max(begin.key.ts), &head, put)?;
    }
    Ok(())
}

fn push(
    records: &mut Records,
    begin: &Begin,
    end: i64,
    head: &SpanHead,
    put: impl FnOnce(&mut Vec<u8>),
) -> Result<(), IngestError> {
    let MomentKey { track, ts, position } = begin.key;
    records.push_span(SpanKey::new(track, (ts, end), position, head, begin.order), put, false)
}

/// Both events of a pair may carry arguments; where both have one, the beginning's counts.
fn join(begin: &SpanRecord<'_>, end: &SpanRecord<'_>, records: &mut Records) -> (SpanHead, Vec<Cell>, Vec<u8>) {
    let mut texts = begin.texts.to_vec();
    let moved = texts.len() as u32;
    texts.extend_from_slice(end.texts);
    let at_end = |text: Text| match text {
        Text::Id(_) => text,
        Text::Behind { start, length } => Text::Behind { start: start + moved, length },
    };
    let mut cells: Vec<Cell> = begin.cells().collect();
    for mut cell in end.cells() {
        if let CellValue::Text(text) = &mut cell.value {
            *text = at_end(*text);
        }
        if !cells.iter().any(|known| known.column == cell.column) {
            cells.push(cell);
        }
    }
    let rest = match (begin.head.rest, end.head.rest.map(at_end)) {
        (Some(first), Some(second)) => {
            let (first_json, second_json) =
                (records.strings.resolve(first, &texts), records.strings.resolve(second, &texts));
            if first_json == second_json {
                Some(first)
            } else {
                let joined = join_json(first_json, second_json);
                Some(records.strings.text(&joined, &mut texts))
            }
        }
        (first, second) => first.or(second),
    };
    (SpanHead { rest, ..begin.head }, cells, texts)
}
