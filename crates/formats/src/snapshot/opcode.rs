//! From bytes to opcodes with their arguments: protocols 0 to 5, and only what plain data needs.

use std::borrow::Cow;
use std::io::Read;

use super::fault::Fault;
use super::number::{Integer, MAX_BYTES, MAX_DIGITS, from_bytes, from_text};
use super::text::{from_latin_1, from_string_escape, from_unicode_escape, from_utf8};
use super::window::Window;

/// An opcode that is allowed.
#[derive(Debug, PartialEq)]
pub(super) enum Opcode<'a> {
    /// `PROTO`, `FRAME`: nothing that is needed. In a cut file the length of a frame always lies.
    Nothing,
    Stop,
    Mark,
    Pop,
    PopMark,
    Dup,
    None,
    Bool(bool),
    Int(i64),
    LargeInt(String),
    Float(f64),
    Text(Cow<'a, str>),
    /// What it holds is never looked at.
    Bytes,
    EmptyList,
    List,
    Append,
    Appends,
    /// A tuple of what is above the last mark.
    Tuple,
    /// A tuple of this many values.
    TupleOf(usize),
    EmptyDict,
    Dict,
    SetItem,
    SetItems,
    Put(u64),
    Memoize,
    Get(u64),
}

/// The name of an opcode that reaches code, classes, or data outside the stream, or that no snapshot needs. There is no
/// list of harmless classes.
fn refused(code: u8) -> Option<&'static str> {
    Some(match code {
        b'c' => "GLOBAL",
        0x93 => "STACK_GLOBAL",
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        0x8f => "EMPTY_SET",
        0x90 => "ADDITEMS",
        0x91 => "FROZENSET",
        _ => return None,
    })
}

/// Opcodes of a stream, one after the other.
#[derive(Debug)]
pub(super) struct Opcodes<R> {
    pub(super) window: Window<R>,
    max_text_bytes: usize,
    /// Where the current one starts.
    pub(super) start_bytes: u64,
    /// Whether some text was not valid, and holds replacement characters.
    pub(super) has_invalid_text: bool,
}

impl<R: Read> Opcodes<R> {
    pub(super) fn new(input: R, max_text_bytes: usize) -> Self {
        Self { window: Window::new(input), max_text_bytes, start_bytes: 0, has_invalid_text: false }
    }

    /// The next one.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Opcode<'_>, Fault> {
        self.start_bytes = self.window.offset_bytes();
        let [code] = self.array()?;
        Ok(match code {
            b'h' => Opcode::Get(self.array::<1>()?[0].into()),
            b'j' => Opcode::Get(u32::from_le_bytes(self.array()?).into()),
            0x94 => Opcode::Memoize,
            b'K' => Opcode::Int(self.array::<1>()?[0].into()),
            b'J' => Opcode::Int(i32::from_le_bytes(self.array()?).into()),
            b'(' => Opcode::Mark,
            b'}' => Opcode::EmptyDict,
            b'u' => Opcode::SetItems,
            b']' => Opcode::EmptyList,
            b'e' => Opcode::Appends,
            0x8a => {
                let length = self.array::<1>()?[0].into();
                self.integer(length)?
            }
            0x8c => {
                let length = self.array::<1>()?[0].into();
                self.text(length)?
            }
            b'M' => Opcode::Int(u16::from_le_bytes(self.array()?).into()),
            b'q' => Opcode::Put(self.array::<1>()?[0].into()),
            b'r' => Opcode::Put(u32::from_le_bytes(self.array()?).into()),
            b'X' => {
                let length = u32::from_le_bytes(self.array()?).into();
                self.text(length)?
            }
            _ => return self.rare(code),
        })
    }

    /// Opcodes that are not in every event.
    fn rare(&mut self, code: u8) -> Result<Opcode<'_>, Fault> {
        Ok(match code {
            0x80 => match self.array::<1>()?[0] {
                0..=5 => Opcode::Nothing,
                version => return Err(Fault::Protocol(version)),
            },
            0x95 => {
                self.array::<8>()?;
                Opcode::Nothing
            }
            b'.' => Opcode::Stop,
            b'0' => Opcode::Pop,
            b'1' => Opcode::PopMark,
            b'2' => Opcode::Dup,
            b'N' => Opcode::None,
            0x88 => Opcode::Bool(true),
            0x89 => Opcode::Bool(false),
            b'I' => match self.line()? {
                b"00" => Opcode::Bool(false),
                b"01" => Opcode::Bool(true),
                line => decimal(line)?,
            },
            b'L' => {
                let line = self.line()?;
                decimal(line.strip_suffix(b"L").unwrap_or(line))?
            }
            0x8b => {
                let length = self.signed_length()?;
                self.integer(length)?
            }
            b'F' => {
                let text = std::str::from_utf8(self.line()?).ok();
                Opcode::Float(text.and_then(|text| text.trim().parse().ok()).ok_or(Fault::Broken)?)
            }
            b'G' => Opcode::Float(f64::from_be_bytes(self.array()?)),
            b'S' | b'V' => self.text_line(code)?,
            b'T' => {
                let length = self.signed_length()?;
                Opcode::Text(from_latin_1(self.bytes(length)?))
            }
            b'U' => {
                let length = self.array::<1>()?[0].into();
                Opcode::Text(from_latin_1(self.bytes(length)?))
            }
            0x8d => {
                let length = u64::from_le_bytes(self.array()?);
                self.text(length)?
            }
            b'B' | b'C' | 0x8e | 0x96 => {
                let length = match code {
                    b'B' => u32::from_le_bytes(self.array()?).into(),
                    b'C' => self.array::<1>()?[0].into(),
                    _ => u64::from_le_bytes(self.array()?),
                };
                self.bytes(length)?;
                Opcode::Bytes
            }
            b')' => Opcode::TupleOf(0),
            b'l' => Opcode::List,
            b't' => Opcode::Tuple,
            0x85..=0x87 => Opcode::TupleOf(usize::from(code - 0x84)),
            b'd' => Opcode::Dict,
            b'a' => Opcode::Append,
            b's' => Opcode::SetItem,
            b'p' => Opcode::Put(self.slot()?),
            b'g' => Opcode::Get(self.slot()?),
            _ => return Err(refused(code).map_or(Fault::Broken, Fault::Refused)),
        })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        if !self.window.has(N)? {
            return Err(Fault::Cut);
        }
        let mut array = [0; N];
        array.copy_from_slice(self.window.take(N));
        Ok(array)
    }

    /// Bytes of a text, as far as the limit; a length past the end of the stream is found without taking memory.
    #[inline]
    fn bytes(&mut self, length: u64) -> Result<&[u8], Fault> {
        if length > self.max_text_bytes as u64 {
            return Err(if self.window.skip(length)? { Fault::Broken } else { Fault::Cut });
        }
        if !self.window.has(length as usize)? {
            return Err(Fault::Cut);
        }
        Ok(self.window.take(length as usize))
    }

    /// A length that has a sign: below zero it is past every end.
    fn signed_length(&mut self) -> Result<u64, Fault> {
        u64::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| Fault::Cut)
    }

    fn text(&mut self, length: u64) -> Result<Opcode<'_>, Fault> {
        // Not by `self.bytes`: the text is borrowed while the note is made.
        if length > self.max_text_bytes as u64 {
            return Err(if self.window.skip(length)? { Fault::Broken } else { Fault::Cut });
        }
        if !self.window.has(length as usize)? {
            return Err(Fault::Cut);
        }
        let (text, is_invalid) = from_utf8(self.window.take(length as usize));
        self.has_invalid_text |= is_invalid;
        Ok(Opcode::Text(text))
    }

    fn text_line(&mut self, code: u8) -> Result<Opcode<'_>, Fault> {
        let length = self.line_length()?;
        let line = &self.window.take(length + 1)[..length];
        let (text, is_invalid) = match *line {
            _ if code == b'V' => from_unicode_escape(line),
            [first @ (b'\'' | b'"'), ref inner @ .., last] if first == last => from_string_escape(inner),
            _ => return Err(Fault::Broken),
        };
        self.has_invalid_text |= is_invalid;
        Ok(Opcode::Text(text))
    }

    fn integer(&mut self, length: u64) -> Result<Opcode<'_>, Fault> {
        if length > MAX_BYTES as u64 {
            return Err(if self.window.skip(length)? { Fault::Broken } else { Fault::Cut });
        }
        Ok(of_integer(from_bytes(self.bytes(length)?)))
    }

    fn line_length(&mut self) -> Result<usize, Fault> {
        let limit = self.max_text_bytes;
        match self.window.line_length(limit)? {
            Some(length) if length <= limit => Ok(length),
            Some(_) => Err(Fault::Broken),
            None if self.window.has(limit + 1)? => Err(Fault::Broken),
            None => Err(Fault::Cut),
        }
    }

    fn line(&mut self) -> Result<&[u8], Fault> {
        let length = self.line_length()?;
        Ok(&self.window.take(length + 1)[..length])
    }

    /// The number of a memo slot, in text.
    fn slot(&mut self) -> Result<u64, Fault> {
        let line = self.line()?;
        let is_slot = !line.is_empty() && line.len() <= 10 && line.iter().all(u8::is_ascii_digit);
        if !is_slot {
            return Err(Fault::Broken);
        }
        Ok(line.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
    }
}

fn decimal(line: &[u8]) -> Result<Opcode<'static>, Fault> {
    if line.len() > MAX_DIGITS {
        return Err(Fault::Broken);
    }
    from_text(line).map(of_integer).ok_or(Fault::Broken)
}

fn of_integer(integer: Integer) -> Opcode<'static> {
    match integer {
        Integer::Small(number) => Opcode::Int(number),
        Integer::Large(digits) => Opcode::LargeInt(digits),
    }
}
