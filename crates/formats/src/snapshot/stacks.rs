//! Stacks and their frames, each told once: found by identity first, then by content.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::arena::{Arena, Value};
use super::word::Word;
use crate::memory::Frame;
use crate::sink::TraceSink;

/// Frames of one stack.
const MAX_FRAMES: usize = 4096;

/// The stacks that were told.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    /// By file, line and name in one text.
    frames: HashMap<String, u32>,
    /// By their frames.
    numbers: HashMap<Box<[u32]>, u32>,
    /// Frames of the stack that is being looked up, and one of them.
    content: Vec<u32>,
    key: String,
    /// Whether a stack was longer than the limit.
    pub(super) has_long_stack: bool,
}

impl Stacks {
    /// The number of a list of frames; none for one without frames.
    pub(super) fn number(&mut self, arena: &mut Arena, value: Value, sink: &mut dyn TraceSink) -> Option<u32> {
        let (Value::List(list) | Value::Tuple(list)) = value else {
            return if let Value::Stack(number) = value { Some(number) } else { None };
        };
        if let Some(number) = arena.list(list).stack {
            return Some(number);
        }
        if arena.list(list).items.is_empty() {
            return None;
        }
        self.content.clear();
        for place in 0..arena.list(list).items.len() {
            let Value::Dict(frame) = arena.list(list).items[place] else { continue };
            if self.content.len() == MAX_FRAMES {
                self.has_long_stack = true;
                break;
            }
            let number = self.frame(arena, frame, sink);
            self.content.push(number);
        }
        let known = self.numbers.get(self.content.as_slice()).copied();
        let number = known.unwrap_or_else(|| {
            sink.stack(&self.content);
            let number = self.numbers.len() as u32;
            self.numbers.insert(self.content.as_slice().into(), number);
            number
        });
        arena.list_mut(list).stack = Some(number);
        Some(number)
    }

    fn frame(&mut self, arena: &mut Arena, dict: u32, sink: &mut dyn TraceSink) -> u32 {
        if let Some(number) = arena.dict(dict).frame {
            return number;
        }
        let file = text(arena, arena.member(dict, Word::Filename));
        let name = text(arena, arena.member(dict, Word::Name));
        let line = match arena.member(dict, Word::Line) {
            Some(Value::Int(line)) => line,
            Some(Value::Bool(line)) => line.into(),
            _ => 0,
        };
        self.key.clear();
        // With the length of the file, no two frames have the same text.
        let _ = write!(self.key, "{line} {} {file}{name}", file.len());
        let number = self.frames.get(&self.key).copied().unwrap_or_else(|| {
            sink.frame(&Frame { name, file: Some(file), line: Some(line) });
            let number = self.frames.len() as u32;
            self.frames.insert(self.key.clone(), number);
            number
        });
        arena.dict_mut(dict).frame = Some(number);
        number
    }
}

/// A text of a frame; empty for anything else.
fn text(arena: &Arena, value: Option<Value>) -> &str {
    value.and_then(|value| arena.as_text(value)).unwrap_or_default()
}
