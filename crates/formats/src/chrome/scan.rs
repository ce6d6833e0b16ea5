//! A JSON scanner over text in memory: one pass, no tree, no recursion.
//!
//! It says where values begin and end and checks the grammar on the way. What profilers are known to get wrong is
//! taken and noted: empty values, NaN and infinity, commas too many, raw control characters in strings.

use super::eight_bytes::find_quote_or_backslash;
use super::slot::{Slot, SlotKind};
use super::text::{is_strict, push_strict};
use super::usual::{usual_list, usual_value};
use super::word::{Word, ends_word, number_length, word_kind};

/// Why a value was not scanned to its end, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text ends first.
    More,
    /// The grammar is broken here.
    Broken(usize),
    /// Nests too deep.
    Deep(usize),
    /// A string is too long.
    Long(usize),
}

/// The outcome of scanning.
pub(super) type Scan<T> = Result<T, Stop>;

/// Limits of one scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanLimits {
    pub(super) max_depth: usize,
    pub(super) max_string_bytes: usize,
}

/// A place in a text, and what was noted on the way there.
pub(super) struct Scanner<'t> {
    text: &'t str,
    pub(super) pos: usize,
    limits: ScanLimits,
    /// A quote ends a string only when what follows it is due after a string.
    lenient: bool,
    /// A value was read as null, or a comma was too many.
    pub(super) saw_bad_value: bool,
    /// Open arrays and objects of the nested value, by their first byte.
    pub(super) stack: Vec<u8>,
}

/// Takes the tokens of a nested value.
trait TokenSink {
    fn token(&mut self, text: &str);
    fn string(&mut self, raw: &str);
}

/// Only the extent of the value is of interest.
struct Ignore;

impl TokenSink for Ignore {
    fn token(&mut self, _: &str) {}
    fn string(&mut self, _: &str) {}
}

/// Builds valid JSON.
impl TokenSink for String {
    fn token(&mut self, text: &str) {
        self.push_str(text);
    }

    fn string(&mut self, raw: &str) {
        push_strict(self, raw);
    }
}

/// What is due next in a nested value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    FirstKey,
    Key,
    /// The value of a member.
    Value,
    FirstElement,
    Element,
    /// A comma or the end of the container.
    Comma,
}

impl<'t> Scanner<'t> {
    /// A scanner at the start of `text`.
    pub(super) fn new(text: &'t str, limits: ScanLimits, lenient: bool) -> Self {
        Self { text, pos: 0, limits, lenient, saw_bad_value: false, stack: Vec::new() }
    }

    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Scan<u8> {
        self.bytes().get(self.pos).copied().ok_or(Stop::More)
    }

    /// Passes spaces and gives the byte behind them.
    #[inline]
    pub(super) fn peek_token(&mut self) -> Scan<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\t' | b'\r' => self.pos += 1,
                byte => return Ok(byte),
            }
        }
    }

    /// Passes a colon and the spaces around it.
    pub(super) fn colon(&mut self) -> Scan<()> {
        if self.peek_token()? != b':' {
            return Err(Stop::Broken(self.pos));
        }
        self.pos += 1;
        Ok(())
    }

    /// Scans the members of an object whose `{` is next. `take` gets each key and scans its value.
    #[inline]
    pub(super) fn members(&mut self, mut take: impl FnMut(&mut Self, Slot) -> Scan<()>) -> Scan<()> {
        self.pos += 1;
        let mut is_first = true;
        loop {
            match self.peek_token()? {
                b'"' => {
                    let key = self.string()?;
                    self.colon()?;
                    self.peek_token()?;
                    take(self, key)?;
                }
                b'}' => {
                    self.saw_bad_value |= !is_first;
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Broken(self.pos)),
            }
            is_first = false;
            match self.peek_token()? {
                b',' => self.pos += 1,
                b'}' => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Broken(self.pos)),
            }
        }
    }

    /// Scans the value that begins at the current place, inside `depth` arrays and objects.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Scan<Slot> {
        if !self.lenient {
            let usual = usual_value(self.bytes(), self.pos, self.limits);
            if let Some((slot, end)) = usual.or_else(|| usual_list(self.bytes(), self.pos, depth, self.limits)) {
                self.pos = end;
                return Ok(slot);
            }
        }
        self.any_value(depth)
    }

    /// The same for a value of any kind.
    pub(super) fn any_value(&mut self, depth: usize) -> Scan<Slot> {
        match self.peek()? {
            b'"' => self.string(),
            b'{' | b'[' => self.nested(depth, &mut Ignore),
            b',' | b'}' | b']' => {
                self.saw_bad_value = true;
                Ok(Slot::new(SlotKind::Null, self.pos, self.pos))
            }
            _ => self.bare(),
        }
    }

    /// The array or object at the start of the text, about `length` bytes long, as valid JSON.
    pub(super) fn rewrite(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length + length / 8);
        // The same text was scanned before, so that it cannot fail.
        let _ = self.nested(0, &mut out);
        out
    }

    /// Scans the string whose quote is next; the slot is its inside.
    pub(super) fn string(&mut self) -> Scan<Slot> {
        let start = self.pos + 1;
        let mut at = start;
        let mut kind = SlotKind::Plain;
        loop {
            let rest = self.bytes().get(at..).unwrap_or_default();
            let Some(found) = find_quote_or_backslash(rest) else {
                let is_long = self.bytes().len().saturating_sub(start) > self.limits.max_string_bytes;
                return Err(if is_long { Stop::Long(start) } else { Stop::More });
            };
            at += found;
            if self.bytes()[at] == b'\\' {
                kind = SlotKind::Escaped;
                at += 2;
            } else if self.lenient && !self.ends_string(at + 1)? {
                kind = SlotKind::Escaped;
                at += 1;
            } else {
                break;
            }
        }
        if at - start > self.limits.max_string_bytes {
            return Err(Stop::Long(start));
        }
        self.pos = at + 1;
        Ok(Slot::new(kind, start, at))
    }

    /// Whether what follows a quote is due after a string.
    fn ends_string(&self, after: usize) -> Scan<bool> {
        let next = self.bytes().get(after..).unwrap_or_default().iter().find(|byte| !byte.is_ascii_whitespace());
        next.map(|byte| matches!(byte, b',' | b':' | b'}' | b']')).ok_or(Stop::More)
    }

    /// Scans a number or a word.
    fn bare(&mut self) -> Scan<Slot> {
        let start = self.pos;
        let rest = &self.bytes()[start..];
        if let Some(length) = number_length(rest) {
            match rest.get(length) {
                None => return Err(Stop::More),
                Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') => {
                    self.pos = start + length;
                    return Ok(Slot::new(SlotKind::Number, start, start + length));
                }
                Some(_) => {}
            }
        }
        self.word()
    }

    /// Scans what is not a well-formed number.
    fn word(&mut self) -> Scan<Slot> {
        let start = self.pos;
        let rest = &self.bytes()[start..];
        let length = rest.iter().position(|&byte| ends_word(byte)).ok_or(Stop::More)?;
        let kind = match word_kind(&rest[..length]) {
            Word::Is(kind) => kind,
            Word::BadValue => {
                self.saw_bad_value = true;
                SlotKind::Null
            }
            Word::Unknown => return Err(Stop::Broken(start)),
        };
        self.pos = start + length;
        Ok(Slot::new(kind, start, start + length))
    }

    /// Scans the array or object that is next, inside `depth` others.
    fn nested(&mut self, depth: usize, out: &mut impl TokenSink) -> Scan<Slot> {
        let start = self.pos;
        let mut is_strict_json = true;
        // Nulls that are written for nothing, and commas before an end, are noted by this flag of the whole scan.
        let saw_bad_value = std::mem::replace(&mut self.saw_bad_value, false);
        self.stack.clear();
        let mut due = self.open(depth, out)?;
        loop {
            let byte = self.peek_token()?;
            match (due, byte) {
                (Due::FirstKey | Due::Key, b'"') => {
                    out.token(if due == Due::Key { "," } else { "" });
                    self.nested_string(&mut is_strict_json, out)?;
                    self.colon()?;
                    out.token(":");
                    due = Due::Value;
                }
                (Due::FirstKey | Due::Key, b'}')
                | (Due::FirstElement | Due::Element, b']')
                | (Due::Comma, b'}' | b']') => {
                    if !self.close(byte) {
                        return Err(Stop::Broken(self.pos - 1));
                    }
                    self.saw_bad_value |= matches!(due, Due::Key | Due::Element);
                    out.token(if byte == b'}' { "}" } else { "]" });
                    if self.stack.is_empty() {
                        break;
                    }
                    due = Due::Comma;
                }
                (Due::Comma, b',') => {
                    self.pos += 1;
                    due = if self.stack.last() == Some(&b'{') { Due::Key } else { Due::Element };
                }
                (Due::FirstKey | Due::Key | Due::Comma, _) => return Err(Stop::Broken(self.pos)),
                (Due::Value | Due::FirstElement | Due::Element, _) => {
                    out.token(if due == Due::Element { "," } else { "" });
                    due = Due::Comma;
                    match byte {
                        b'{' | b'[' => due = self.open(depth, out)?,
                        b'"' => self.nested_string(&mut is_strict_json, out)?,
                        _ => {
                            let slot = self.value(depth)?;
                            let written = slot.raw(self.text);
                            out.token(if slot.kind() == SlotKind::Null { "null" } else { written });
                        }
                    }
                }
            }
        }
        is_strict_json &= !self.saw_bad_value;
        self.saw_bad_value |= saw_bad_value;
        let kind = if is_strict_json { SlotKind::Json } else { SlotKind::LaxJson };
        Ok(Slot::new(kind, start, self.pos))
    }

    /// Enters the container whose first byte is next.
    fn open(&mut self, depth: usize, out: &mut impl TokenSink) -> Scan<Due> {
        if depth + self.stack.len() >= self.limits.max_depth {
            return Err(Stop::Deep(self.pos));
        }
        let byte = self.peek()?;
        self.stack.push(byte);
        self.pos += 1;
        if byte == b'{' {
            out.token("{");
            Ok(Due::FirstKey)
        } else {
            out.token("[");
            Ok(Due::FirstElement)
        }
    }

    /// Leaves the innermost container; `false` when `byte` does not close it.
    fn close(&mut self, byte: u8) -> bool {
        self.pos += 1;
        self.stack.pop() == Some(if byte == b'}' { b'{' } else { b'[' })
    }

    fn nested_string(&mut self, is_strict_json: &mut bool, out: &mut impl TokenSink) -> Scan<()> {
        let slot = self.string()?;
        let raw = slot.raw(self.text);
        *is_strict_json = *is_strict_json && is_strict(raw, slot.kind() == SlotKind::Escaped);
        out.string(raw);
        Ok(())
    }
}
