//! `external_annotations`: where ranges of the program begin and end. A pair becomes a span on the track of its device.

use std::collections::HashMap;

use stepscope_model::warning::{OPEN_END, UNMATCHED_END, WRONG_TYPES};
use stepscope_model::{Kind, Phase};

use super::arena::{Arena, Value};
use super::teller::{THREAD, Teller};
use super::word::Word;
use crate::event::{self, Event, Time};

/// A range, and the time of its end once that is known.
struct Range {
    name: Value,
    device: i64,
    offset_bytes: u64,
    start_ns: i64,
    end_ns: Option<i64>,
}

impl Teller<'_> {
    /// Tells annotations, in the order of their beginnings. An end belongs to the last open beginning of that name and
    /// device.
    pub(super) fn annotations(&mut self, arena: &Arena, value: Value) {
        let Some(items) = arena.items(value) else {
            if value != Value::None {
                self.warn(WRONG_TYPES, 0, "annotations that are not a list");
            }
            return;
        };
        let mut ranges: Vec<Range> = Vec::new();
        let mut open: HashMap<(&str, i64), Vec<usize>> = HashMap::new();
        for &item in items {
            let Value::Dict(dict) = item else {
                self.warn(WRONG_TYPES, 0, "an annotation");
                continue;
            };
            let offset_bytes = arena.dict(dict).offset_bytes;
            let name = arena.member(dict, Word::Name);
            let time_us = arena.member(dict, Word::TimeUs).and_then(|time| self.int(time, offset_bytes));
            let device = arena.member(dict, Word::Device).and_then(|device| self.int(device, offset_bytes));
            let (Some(text), Some(at_ns)) =
                (name.and_then(|name| arena.as_text(name)), time_us.and_then(|time_us| time_us.checked_mul(1000)))
            else {
                self.warn(WRONG_TYPES, offset_bytes, "an annotation without name or time");
                continue;
            };
            let device = device.unwrap_or(0);
            let open = open.entry((text, device)).or_default();
            match arena.member(dict, Word::Stage) {
                Some(Value::Word(Word::Start)) => {
                    open.push(ranges.len());
                    let name = name.unwrap_or(Value::None);
                    ranges.push(Range { name, device, offset_bytes, start_ns: at_ns, end_ns: None });
                }
                Some(Value::Word(Word::End)) => match open.pop() {
                    Some(place) => ranges[place].end_ns = Some(at_ns),
                    None => self.warn(UNMATCHED_END, offset_bytes, "an annotation"),
                },
                _ => self.warn(WRONG_TYPES, offset_bytes, "an annotation that neither begins nor ends"),
            }
        }
        for range in &ranges {
            self.range(arena, range);
        }
    }

    fn range(&mut self, arena: &Arena, range: &Range) {
        let track = *self.track(range.device);
        let end_ns = range.end_ns.or(track.last_ns).unwrap_or(range.start_ns);
        let position = self.next_position();
        let process = range.device.to_string();
        self.sink.event(&Event {
            position,
            offset_bytes: range.offset_bytes,
            category: event::Value::Text("user_annotation".into()),
            kind: Some(Kind::Annotation),
            name: event::Value::Text(arena.as_text(range.name).unwrap_or_default().into()),
            start: Time::of_ns(range.start_ns),
            dur: Time::of_ns(end_ns.saturating_sub(range.start_ns).max(0)),
            track: Some(track.number),
            process: event::Value::Text(process.as_str().into()),
            thread: event::Value::Text(THREAD.into()),
            ..Event::of_phase(Phase::Complete)
        });
        if range.end_ns.is_none() {
            self.warn(OPEN_END, range.offset_bytes, "an annotation");
        }
    }
}
