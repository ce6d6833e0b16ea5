//! The walk over the result of a pickle: whether it is a snapshot, and what was not handed out on the way.

use stepscope_model::Note;
use stepscope_model::warning::{HEADER_BROKEN, WRONG_TYPES};

use super::arena::{Arena, Value};
use super::fault::{Damage, not_a_snapshot};
use super::json::to_json;
use super::machine::Machine;
use super::teller::Teller;
use super::word::Word;
use crate::error::FormatError;
use crate::event;

impl Machine<'_> {
    /// Tells what is left of the result. Gives the notes, or the refusal of something else than a snapshot.
    pub(super) fn finish(mut self, result: Option<Value>, damage: Option<Damage>) -> Result<Vec<Note>, FormatError> {
        let (arena, teller) = (&mut self.arena, &mut self.teller);
        let mut notes = Vec::new();
        let state = match result {
            Some(Value::Dict(root)) => teller.root(arena, root, damage.is_some())?,
            Some(list @ (Value::List(_) | Value::Tuple(_))) => {
                teller.bare_list(arena, list)?;
                notes.push(Note::SegmentsOnly);
                if damage.is_some() { "cut" } else { "whole" }
            }
            _ => return Err(not_a_snapshot()),
        };
        teller.tell_losses();
        teller.sink.header("snapshot_state", &event::Value::Text(state.into()));
        teller.sink.header("segment_totals_differ", &event::Value::Number(&teller.totals_differ.to_string()));
        Ok(notes)
    }
}

impl Teller<'_> {
    /// A snapshot; gives how much of the state at the end is known.
    fn root(&mut self, arena: &mut Arena, root: u32, is_damaged: bool) -> Result<&'static str, FormatError> {
        let member = |key| arena.member(root, key);
        let (segments, traces) = (member(Word::Segments), member(Word::DeviceTraces));
        let (settings, annotations) = (member(Word::AllocatorSettings), member(Word::ExternalAnnotations));
        if segments.is_none() && traces.is_none() {
            return Err(not_a_snapshot());
        }
        let is_last = is_last_member(arena, root, Word::Segments);
        if let Some(list) = segments {
            self.items(arena, list, "segments that are not a list", Teller::segment);
        }
        if let Some(list) = traces {
            self.histories(arena, list);
        }
        if let Some(annotations) = annotations {
            self.annotations(arena, annotations);
        }
        match settings.map(|settings| (settings, to_json(arena, settings))) {
            Some((Value::Dict(_), Some(json))) => {
                self.sink.header("allocator_settings", &event::Value::Json(json.into()));
            }
            None | Some((Value::None, _)) => {}
            Some(_) => self.warn(HEADER_BROKEN, 0, "allocator_settings"),
        }
        Ok(match segments {
            None => "none",
            Some(_) if is_damaged && is_last => "cut",
            Some(_) => "whole",
        })
    }

    /// A file that is nothing but segments.
    fn bare_list(&mut self, arena: &mut Arena, value: Value) -> Result<(), FormatError> {
        let (Value::List(list) | Value::Tuple(list)) = value else { return Err(not_a_snapshot()) };
        // What was handed out of another list were no segments of this file.
        let is_other = arena.list(list).handed_out > 0 && self.bare_list != Some(list);
        if arena.list(list).len() == 0 || is_other {
            return Err(not_a_snapshot());
        }
        for item in arena.take_items(list) {
            self.bare_segment(arena, item);
        }
        if self.is_not_bare { Err(not_a_snapshot()) } else { Ok(()) }
    }

    /// Histories by device, of which those that were handed out are empty by now.
    fn histories(&mut self, arena: &mut Arena, value: Value) {
        let Some(traces) = arena.items(value).map(<[Value]>::to_vec) else {
            if value != Value::None {
                self.warn(WRONG_TYPES, 0, "device_traces that are not a list");
            }
            return;
        };
        for (device, trace) in (0..).zip(traces) {
            let (Value::List(list) | Value::Tuple(list)) = trace else {
                self.warn(WRONG_TYPES, 0, "a history that is not a list");
                continue;
            };
            let known = arena.list(list).device.is_some_and(|known| known != device);
            if known || std::mem::replace(&mut arena.list_mut(list).is_visited, true) {
                self.repeated(0, "a history");
                continue;
            }
            for item in arena.take_items(list) {
                self.change(arena, device, item);
            }
        }
    }

    fn items(&mut self, arena: &mut Arena, value: Value, what: &str, tell: fn(&mut Self, &mut Arena, Value)) {
        let (Value::List(list) | Value::Tuple(list)) = value else {
            if value != Value::None {
                self.warn(WRONG_TYPES, 0, what);
            }
            return;
        };
        for item in arena.take_items(list) {
            tell(self, arena, item);
        }
    }
}

/// Whether no member of another name came after this one. A name that comes again keeps its place.
fn is_last_member(arena: &Arena, root: u32, key: Word) -> bool {
    let pairs = &arena.dict(root).pairs;
    let first = pairs.iter().position(|pair| pair.0 == Value::Word(key));
    first.is_some_and(|first| pairs[first..].iter().all(|pair| pair.0 == Value::Word(key)))
}
