//! Where the values of a pickle live. They refer to each other by number: nothing here recurses, also not when values
//! are released.
//!
//! A value has one owner, the stack or a container, unless it was duplicated or put into a memo slot that is fetched:
//! such a value is shared and stays. All others are released with their owner.

use super::fault::{Fault, MAX_HELD_BYTES};
use super::word::Word;

/// Room that a released container keeps for the next one.
const KEPT_ITEMS: usize = 4096;

/// A value, or a mark on the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Mark,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// An integer beyond 64 bits: its digits are a text.
    LargeInt(u32),
    Word(Word),
    Text(u32),
    Bytes,
    List(u32),
    Tuple(u32),
    Dict(u32),
    /// A list of frames that became the number of a stack.
    Stack(u32),
}

#[derive(Debug, Default)]
struct Text {
    text: String,
    is_shared: bool,
}

/// A list or a tuple.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) items: Vec<Value>,
    /// Items that were handed out and are no longer here.
    pub(super) handed_out: u64,
    /// Number of the stack that it is, where that is known.
    pub(super) stack: Option<u32>,
    /// Memo slot that it is in, if that is ever fetched.
    pub(super) slot: Option<u64>,
    /// How often it was fetched or duplicated.
    pub(super) references: u32,
    /// Device whose history it is, where that is known.
    pub(super) device: Option<u64>,
    /// Whether the walk over the result was here.
    pub(super) is_visited: bool,
    pub(super) is_shared: bool,
    depth: u8,
}

impl List {
    /// Items that it has, handed out or not.
    pub(super) fn len(&self) -> u64 {
        self.handed_out + self.items.len() as u64
    }
}

/// A dict: pairs in the order of the file. Of several with one key, the last counts.
#[derive(Debug, Default)]
pub(super) struct Dict {
    pub(super) pairs: Vec<(Value, Value)>,
    /// Where it starts in the plain bytes.
    pub(super) offset_bytes: u64,
    /// Number of the frame that it is, where that is known.
    pub(super) frame: Option<u32>,
    /// Whether it was handed out.
    pub(super) is_visited: bool,
    pub(super) is_shared: bool,
    depth: u8,
}

/// All values that are held.
#[derive(Debug, Default)]
pub(super) struct Arena {
    texts: Vec<Text>,
    free_texts: Vec<u32>,
    lists: Vec<List>,
    free_lists: Vec<u32>,
    dicts: Vec<Dict>,
    free_dicts: Vec<u32>,
    held_bytes: usize,
    /// Values that are on their way to be released.
    releasing: Vec<Value>,
}

impl Arena {
    /// A text; a word if it is one.
    pub(super) fn text(&mut self, text: &str) -> Result<Value, Fault> {
        if let Some(word) = Word::of(text) {
            return Ok(Value::Word(word));
        }
        self.new_text(text).map(Value::Text)
    }

    /// An integer beyond 64 bits.
    pub(super) fn large_int(&mut self, digits: &str) -> Result<Value, Fault> {
        self.new_text(digits).map(Value::LargeInt)
    }

    fn new_text(&mut self, text: &str) -> Result<u32, Fault> {
        self.hold(size_of::<Text>() + text.len())?;
        let number = reuse(&mut self.texts, &mut self.free_texts);
        self.texts[number as usize].text.push_str(text);
        Ok(number)
    }

    /// A list without items.
    pub(super) fn new_list(&mut self) -> Result<u32, Fault> {
        self.hold(size_of::<List>())?;
        let number = reuse(&mut self.lists, &mut self.free_lists);
        self.lists[number as usize].depth = 1;
        Ok(number)
    }

    /// A dict without pairs.
    pub(super) fn new_dict(&mut self, offset_bytes: u64) -> Result<u32, Fault> {
        self.hold(size_of::<Dict>())?;
        let number = reuse(&mut self.dicts, &mut self.free_dicts);
        let dict = &mut self.dicts[number as usize];
        (dict.depth, dict.offset_bytes) = (1, offset_bytes);
        Ok(number)
    }

    /// Puts values behind the items of a list.
    pub(super) fn extend_list(&mut self, number: u32, values: &[Value]) -> Result<(), Fault> {
        self.hold(size_of_val(values))?;
        self.lists[number as usize].items.extend_from_slice(values);
        Ok(())
    }

    /// Puts keys and values, one after the other, behind the pairs of a dict.
    pub(super) fn extend_dict(&mut self, number: u32, values: &[Value]) -> Result<(), Fault> {
        self.hold(size_of_val(values))?;
        let pairs = &mut self.dicts[number as usize].pairs;
        pairs.extend(values.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        Ok(())
    }

    pub(super) fn list(&self, number: u32) -> &List {
        &self.lists[number as usize]
    }

    pub(super) fn list_mut(&mut self, number: u32) -> &mut List {
        &mut self.lists[number as usize]
    }

    pub(super) fn dict(&self, number: u32) -> &Dict {
        &self.dicts[number as usize]
    }

    pub(super) fn dict_mut(&mut self, number: u32) -> &mut Dict {
        &mut self.dicts[number as usize]
    }

    /// The last value of a member, if there is one.
    pub(super) fn member(&self, dict: u32, key: Word) -> Option<Value> {
        let pairs = &self.dict(dict).pairs;
        pairs.iter().rev().find(|pair| pair.0 == Value::Word(key)).map(|pair| pair.1)
    }

    /// The text, if it is one.
    pub(super) fn as_text(&self, value: Value) -> Option<&str> {
        match value {
            Value::Word(word) => Some(word.as_text()),
            Value::Text(number) => Some(&self.texts[number as usize].text),
            _ => None,
        }
    }

    /// The digits of an integer beyond 64 bits.
    pub(super) fn digits(&self, number: u32) -> &str {
        &self.texts[number as usize].text
    }

    /// The items of a list or a tuple that are here.
    pub(super) fn items(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::List(number) | Value::Tuple(number) => Some(&self.list(number).items),
            _ => None,
        }
    }

    /// Takes the items out of a list, which then owns none.
    pub(super) fn take_items(&mut self, number: u32) -> Vec<Value> {
        let items = std::mem::take(&mut self.lists[number as usize].items);
        self.held_bytes -= size_of_val(items.as_slice());
        items
    }

    /// Levels of containers in a value.
    #[inline]
    pub(super) fn depth(&self, value: Value) -> u8 {
        match value {
            Value::List(number) | Value::Tuple(number) => self.list(number).depth,
            Value::Dict(number) => self.dict(number).depth,
            _ => 0,
        }
    }

    /// Notes that a container has at least so many levels.
    pub(super) fn deepen(&mut self, container: Value, depth: u8) {
        match container {
            Value::List(number) | Value::Tuple(number) => {
                let list = self.list_mut(number);
                list.depth = list.depth.max(depth);
            }
            Value::Dict(number) => {
                let dict = self.dict_mut(number);
                dict.depth = dict.depth.max(depth);
            }
            _ => {}
        }
    }

    /// Notes that a value has more than one owner.
    #[inline]
    pub(super) fn share(&mut self, value: Value) {
        match value {
            Value::Text(number) | Value::LargeInt(number) => self.texts[number as usize].is_shared = true,
            Value::List(number) | Value::Tuple(number) => self.list_mut(number).is_shared = true,
            Value::Dict(number) => self.dict_mut(number).is_shared = true,
            _ => {}
        }
    }

    /// Releases a value and what it owns.
    pub(super) fn release(&mut self, value: Value) {
        self.releasing.push(value);
        while let Some(value) = self.releasing.pop() {
            match value {
                Value::Text(number) | Value::LargeInt(number) if !self.texts[number as usize].is_shared => {
                    let text = &mut self.texts[number as usize].text;
                    self.held_bytes -= size_of::<Text>() + text.len();
                    text.clear();
                    text.shrink_to(KEPT_ITEMS);
                    self.free_texts.push(number);
                }
                Value::List(number) | Value::Tuple(number) if !self.list(number).is_shared => {
                    let mut items = std::mem::take(&mut self.lists[number as usize].items);
                    self.held_bytes -= size_of::<List>() + size_of_val(items.as_slice());
                    self.releasing.extend_from_slice(&items);
                    items.clear();
                    items.shrink_to(KEPT_ITEMS);
                    self.lists[number as usize] = List { items, ..List::default() };
                    self.free_lists.push(number);
                }
                Value::Dict(number) if !self.dict(number).is_shared => {
                    let mut pairs = std::mem::take(&mut self.dicts[number as usize].pairs);
                    self.held_bytes -= size_of::<Dict>() + size_of_val(pairs.as_slice());
                    self.releasing.extend(pairs.iter().flat_map(|pair| [pair.0, pair.1]));
                    pairs.clear();
                    pairs.shrink_to(KEPT_ITEMS);
                    self.dicts[number as usize] = Dict { pairs, ..Dict::default() };
                    self.free_dicts.push(number);
                }
                _ => {}
            }
        }
    }

    /// Counts memory that is no longer held.
    pub(super) fn let_go(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
    }

    /// Counts memory that is held for values.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        self.held_bytes += bytes;
        if self.held_bytes > MAX_HELD_BYTES { Err(Fault::TooMuchMemory) } else { Ok(()) }
    }
}

/// The number of an entry that was released, or of a new one.
fn reuse<T: Default>(entries: &mut Vec<T>, free: &mut Vec<u32>) -> u32 {
    free.pop().unwrap_or_else(|| {
        entries.push(T::default());
        (entries.len() - 1) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_stays() {
        let mut arena = Arena::default();
        let (event, frames) = (arena.new_dict(0).unwrap(), arena.new_list().unwrap());
        let text = arena.text("a name").unwrap();
        arena.extend_list(frames, &[text]).unwrap();
        arena.share(Value::List(frames));
        let other = arena.text("another").unwrap();
        arena.extend_dict(event, &[Value::Word(Word::Frames), Value::List(frames), other, Value::None]).unwrap();
        arena.release(Value::Dict(event));
        assert_eq!(arena.as_text(arena.list(frames).items[0]), Some("a name"));
        assert_eq!(arena.new_dict(7).unwrap(), event, "the dict is used again");
        assert!(arena.dict(event).pairs.is_empty());
        assert_eq!(arena.text("third").unwrap(), other);
    }

    #[test]
    fn a_million_levels_are_released_without_recursion() {
        let mut arena = Arena::default();
        let mut outer = Value::None;
        for _ in 0..1_000_000 {
            let list = arena.new_list().unwrap();
            arena.extend_list(list, &[outer]).unwrap();
            outer = Value::List(list);
        }
        arena.release(outer);
        assert_eq!(arena.held_bytes, 0);
    }
}
