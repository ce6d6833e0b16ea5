//! The machine that runs a pickle: a stack, a memo, and no way to call anything.

use super::arena::{Arena, Value};
use super::fault::{Fault, MAX_DEPTH, MAX_VALUES};
use super::memo::{Fetched, Memo};
use super::opcode::Opcode;
use super::teller::Teller;
use super::word::Word;

/// A pickle that is being read.
pub(super) struct Machine<'s> {
    pub(super) arena: Arena,
    pub(super) stack: Vec<Value>,
    /// Places of the marks on the stack.
    pub(super) marks: Vec<usize>,
    pub(super) memo: Memo,
    max_depth: u8,
    /// Takes what is finished.
    pub(super) teller: Teller<'s>,
}

impl<'s> Machine<'s> {
    pub(super) fn new(fetched: Fetched, max_depth: usize, teller: Teller<'s>) -> Self {
        let max_depth = max_depth.min(MAX_DEPTH) as u8;
        let memo = Memo::new(fetched);
        Self { arena: Arena::default(), stack: Vec::new(), marks: Vec::new(), memo, max_depth, teller }
    }

    /// Whether there are values that nothing took.
    pub(super) fn has_values_left(&self) -> bool {
        !self.stack.is_empty()
    }

    /// Runs an opcode; gives the result at the end.
    #[inline]
    pub(super) fn step(&mut self, opcode: Opcode<'_>, offset_bytes: u64) -> Result<Option<Value>, Fault> {
        match opcode {
            Opcode::Get(slot) => {
                let value = self.memo.get(slot).ok_or(Fault::Broken)?;
                if let Value::List(list) = value {
                    self.arena.list_mut(list).references += 1;
                }
                self.push(value)?;
            }
            Opcode::Memoize => self.put(self.memo.next_slot())?,
            Opcode::Put(slot) => self.put(slot)?,
            Opcode::Int(number) => self.push(Value::Int(number))?,
            Opcode::Text(text) => {
                let text = self.arena.text(&text)?;
                self.push(text)?;
            }
            Opcode::Mark => {
                self.marks.push(self.stack.len());
                self.push(Value::Mark)?;
            }
            Opcode::EmptyDict => {
                self.hand_out_waiting()?;
                let dict = self.arena.new_dict(offset_bytes)?;
                self.push(Value::Dict(dict))?;
            }
            Opcode::EmptyList => {
                let list = self.arena.new_list()?;
                self.push(Value::List(list))?;
            }
            Opcode::SetItems => {
                let mark = self.pop_mark()?;
                self.set_items(mark, mark + 1)?;
            }
            Opcode::SetItem => {
                let first = self.top(2)?;
                self.set_items(first, first)?;
            }
            Opcode::Appends => {
                let mark = self.pop_mark()?;
                self.append(mark, mark + 1)?;
            }
            Opcode::Append => {
                let first = self.top(1)?;
                self.append(first, first)?;
            }
            Opcode::None => self.push(Value::None)?,
            Opcode::Bool(value) => self.push(Value::Bool(value))?,
            Opcode::Float(number) => self.push(Value::Float(number))?,
            Opcode::LargeInt(digits) => {
                let number = self.arena.large_int(&digits)?;
                self.push(number)?;
            }
            Opcode::Bytes => self.push(Value::Bytes)?,
            Opcode::Tuple => {
                let mark = self.pop_mark()?;
                let tuple = Value::Tuple(self.arena.new_list()?);
                self.fill(tuple, mark, mark + 1)?;
            }
            Opcode::TupleOf(length) => {
                let first = self.top(length)?;
                let tuple = Value::Tuple(self.arena.new_list()?);
                self.fill(tuple, first, first)?;
            }
            Opcode::List => {
                let mark = self.pop_mark()?;
                let list = Value::List(self.arena.new_list()?);
                self.fill(list, mark, mark + 1)?;
            }
            Opcode::Dict => {
                let mark = self.pop_mark()?;
                let dict = Value::Dict(self.arena.new_dict(offset_bytes)?);
                self.fill(dict, mark, mark + 1)?;
            }
            Opcode::Pop => {
                if self.stack.pop().ok_or(Fault::Broken)? == Value::Mark {
                    self.marks.pop();
                }
            }
            Opcode::PopMark => {
                let mark = self.pop_mark()?;
                self.stack.truncate(mark);
            }
            Opcode::Dup => {
                let top = self.stack[self.top(1)?];
                self.arena.share(top);
                if let Value::List(list) = top {
                    self.arena.list_mut(list).references += 1;
                }
                self.push(top)?;
            }
            Opcode::Stop => {
                let last = self.top(1)?;
                return Ok(self.stack.drain(last..).next());
            }
            Opcode::Nothing => {}
        }
        Ok(None)
    }

    #[inline]
    fn push(&mut self, value: Value) -> Result<(), Fault> {
        // Before the push, which could double the memory of the stack.
        if self.stack.len() >= MAX_VALUES {
            return Err(Fault::TooManyValues);
        }
        self.stack.push(value);
        Ok(())
    }

    /// Puts the top of the stack into a slot; keeps it if the slot is ever fetched.
    #[inline]
    fn put(&mut self, slot: u64) -> Result<(), Fault> {
        let top = self.stack[self.top(1)?];
        if self.memo.put(slot, top)? {
            self.arena.share(top);
            if let Value::List(list) = top {
                let list = self.arena.list_mut(list);
                // In a second slot, it is referred to from elsewhere.
                list.references += u32::from(list.slot.replace(slot).is_some());
            }
        }
        Ok(())
    }

    /// Place of the last mark, which no longer counts as one.
    #[inline]
    fn pop_mark(&mut self) -> Result<usize, Fault> {
        self.marks.pop().ok_or(Fault::Broken)
    }

    /// Place of the first of so many values on top of the stack, none of which is a mark.
    #[inline]
    fn top(&self, length: usize) -> Result<usize, Fault> {
        let lowest = self.marks.last().map_or(0, |mark| mark + 1);
        self.stack.len().checked_sub(length).filter(|&first| first >= lowest).ok_or(Fault::Broken)
    }

    /// Replaces the stack from `end` on by a new container that holds its values from `first` on.
    fn fill(&mut self, container: Value, end: usize, first: usize) -> Result<(), Fault> {
        self.contain(container, first)?;
        let outcome = match container {
            Value::Dict(dict) => self.add_pairs(dict, first),
            Value::List(list) | Value::Tuple(list) => self.arena.extend_list(list, &self.stack[first..]),
            _ => Ok(()),
        };
        self.stack.truncate(end);
        outcome?;
        self.push(container)
    }

    /// Puts the values from `first` on into the dict just below `end`, where the stack then ends.
    fn set_items(&mut self, end: usize, first: usize) -> Result<(), Fault> {
        let outcome = match end.checked_sub(1).map(|below| self.stack[below]) {
            Some(Value::Dict(dict)) => {
                self.contain(Value::Dict(dict), first)?;
                self.add_pairs(dict, first)
            }
            _ => Err(Fault::Broken),
        };
        self.stack.truncate(end);
        outcome
    }

    /// Puts the values from `first` on into the list just below `end`, where the stack then ends.
    fn append(&mut self, end: usize, first: usize) -> Result<(), Fault> {
        let Some(below) = end.checked_sub(1).filter(|&below| matches!(self.stack[below], Value::List(_))) else {
            self.stack.truncate(end);
            return Err(Fault::Broken);
        };
        self.contain(self.stack[below], first)?;
        self.hand_on(below, first)?;
        self.stack.truncate(end);
        Ok(())
    }

    /// Notes that a container holds the values from `first` on.
    pub(super) fn contain(&mut self, container: Value, first: usize) -> Result<(), Fault> {
        let mut deepest = 0;
        for &value in &self.stack[first..] {
            deepest = deepest.max(self.arena.depth(value));
            if value == container {
                return Err(Fault::Recursive);
            }
        }
        if deepest >= self.max_depth {
            return Err(Fault::TooDeep);
        }
        self.arena.deepen(container, deepest + 1);
        Ok(())
    }

    /// Adds the values from `first` on to a dict, as far as keys are keys.
    fn add_pairs(&mut self, dict: u32, first: usize) -> Result<(), Fault> {
        if !(self.stack.len() - first).is_multiple_of(2) {
            return Err(Fault::Broken);
        }
        for place in (first..self.stack.len()).step_by(2) {
            if let (Value::Word(Word::Frames), Value::List(list)) = (self.stack[place], self.stack[place + 1]) {
                self.stack[place + 1] = self.settle(list);
            }
        }
        let values = &self.stack[first..];
        if self.arena.dict(dict).pairs.len() + values.len() / 2 > MAX_VALUES {
            return Err(Fault::TooManyValues);
        }
        let is_key = |pair: &[Value]| !matches!(pair[0], Value::List(_) | Value::Dict(_) | Value::Stack(_));
        let valid = 2 * values.chunks_exact(2).take_while(|pair| is_key(pair)).count();
        self.arena.extend_dict(dict, &values[..valid])?;
        if valid < values.len() { Err(Fault::Broken) } else { Ok(()) }
    }
}
