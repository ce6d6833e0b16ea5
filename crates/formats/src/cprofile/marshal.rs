//! Reads the few types of Python's marshal format that a profile is made of (versions 2 to 5, Python 3.0 to 3.14).
//!
//! Nothing is built but texts, numbers and names of functions: no code, no classes, and no nesting that the caller did
//! not ask for. A length is never believed before its bytes are there.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use crate::function::Function;

/// The bit of a type that says: this value gets the next number, and may be referred to by it.
pub(super) const FLAG_REF: u8 = 0x80;

/// Memory for the values that may be referred to.
const MAX_REF_BYTES: usize = 256 << 20;

/// Digits of 15 bits that an integer of 64 bits takes at most.
const MAX_LONG_DIGITS: u32 = 5;

/// Why reading ends before the end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The bytes end.
    Cut,
    /// What is there is not part of a profile.
    Broken(String),
    /// A text, or all of them together, are longer than the limit.
    TooLong,
    /// Reading the bytes failed.
    Io(io::Error),
    /// The sink asked for it.
    Asked,
}

/// A value, or the beginning of one that holds others.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The end of a dict.
    End,
    /// A dict; its keys and values follow, and then `End`.
    Dict,
    /// A tuple; its items follow. It may be referred to by a number.
    Tuple {
        length: u32,
        number: Option<usize>,
    },
    Text(Arc<str>),
    Int(i64),
    Float(f64),
    /// A tuple that was a function before.
    Function(Function),
}

/// Bytes on their way to values.
pub(super) struct Marshal<'a> {
    input: BufReader<&'a mut dyn Read>,
    offset_bytes: u64,
    /// The values by number; `None` for one that nothing in a profile refers to.
    refs: Vec<Option<Value>>,
    ref_bytes: usize,
    max_text_bytes: usize,
    /// Whether some text was not valid, and holds replacement characters.
    pub has_invalid_text: bool,
}

impl<'a> Marshal<'a> {
    pub(super) fn new(input: &'a mut dyn Read, max_text_bytes: usize) -> Self {
        Self {
            input: BufReader::new(input),
            offset_bytes: 0,
            refs: Vec::new(),
            ref_bytes: 0,
            max_text_bytes,
            has_invalid_text: false,
        }
    }

    /// Bytes read so far.
    pub(super) fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Passes over the rest of the input; gives its length.
    pub(super) fn skip_rest(&mut self) -> io::Result<u64> {
        let rest = io::copy(&mut self.input, &mut io::sink())?;
        self.offset_bytes += rest;
        Ok(rest)
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Result<Value, Stop> {
        let code = self.byte()?;
        let number = if code & FLAG_REF == 0 { None } else { Some(self.new_ref()?) };
        let value = match code & !FLAG_REF {
            b'0' => Value::End,
            b'{' => Value::Dict,
            b')' => Value::Tuple { length: u32::from(self.byte()?), number },
            b'(' => Value::Tuple { length: self.u32()?, number },
            b'z' | b'Z' => Value::Text(self.short_text()?),
            b'a' | b'A' | b'u' | b't' => Value::Text(self.long_text()?),
            b'i' => Value::Int(i64::from(self.u32()?.cast_signed())),
            b'l' => Value::Int(self.long()?),
            b'g' => Value::Float(f64::from_le_bytes(self.bytes()?)),
            b'r' => return self.referred(),
            other => return Err(Stop::Broken(format!("a value of type {:?}", char::from(other)))),
        };
        if let (Some(number), Value::Text(_) | Value::Int(_) | Value::Float(_)) = (number, &value) {
            self.keep_ref(number, value.clone());
        }
        Ok(value)
    }

    /// The function that a value is or begins.
    pub(super) fn function_of(&mut self, value: Value) -> Result<Function, Stop> {
        match value {
            Value::Function(function) => Ok(function),
            Value::Tuple { length: 3, number } => {
                let function = Function { file: self.text()?, line: self.int()?, name: self.text()? };
                if let Some(number) = number {
                    self.keep_ref(number, Value::Function(function.clone()));
                }
                Ok(function)
            }
            other => Err(unexpected(&other, "a function")),
        }
    }

    /// The next value, which must be an integer.
    pub(super) fn int(&mut self) -> Result<i64, Stop> {
        match self.value()? {
            Value::Int(value) => Ok(value),
            other => Err(unexpected(&other, "an integer")),
        }
    }

    /// The next value, which must be a time in seconds.
    pub(super) fn seconds(&mut self) -> Result<f64, Stop> {
        match self.value()? {
            Value::Float(value) => Ok(value),
            Value::Int(value) => Ok(value as f64),
            other => Err(unexpected(&other, "a time")),
        }
    }

    fn text(&mut self) -> Result<Arc<str>, Stop> {
        match self.value()? {
            Value::Text(text) => Ok(text),
            other => Err(unexpected(&other, "a string")),
        }
    }

    fn referred(&mut self) -> Result<Value, Stop> {
        let number = self.u32()?;
        let value = self.refs.get(number as usize).cloned().flatten();
        value.ok_or_else(|| Stop::Broken(format!("a reference to number {number}")))
    }

    fn new_ref(&mut self) -> Result<usize, Stop> {
        self.ref_bytes += size_of::<Option<Value>>();
        if self.ref_bytes > MAX_REF_BYTES {
            return Err(Stop::TooLong);
        }
        self.refs.push(None);
        Ok(self.refs.len() - 1)
    }

    fn keep_ref(&mut self, number: usize, value: Value) {
        if let Value::Text(text) = &value {
            self.ref_bytes += text.len();
        }
        self.refs[number] = Some(value);
    }

    fn short_text(&mut self) -> Result<Arc<str>, Stop> {
        let length = self.byte()?;
        self.text_of(u32::from(length))
    }

    fn long_text(&mut self) -> Result<Arc<str>, Stop> {
        let length = self.u32()?;
        self.text_of(length)
    }

    fn text_of(&mut self, length: u32) -> Result<Arc<str>, Stop> {
        if length as usize > self.max_text_bytes {
            return Err(Stop::TooLong);
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(u64::from(length)).read_to_end(&mut bytes).map_err(Stop::Io)?;
        self.offset_bytes += read as u64;
        if read < length as usize {
            return Err(Stop::Cut);
        }
        let text = String::from_utf8_lossy(&bytes);
        self.has_invalid_text |= matches!(text, std::borrow::Cow::Owned(_));
        Ok(text.into())
    }

    /// An integer of any size, in digits of 15 bits, the lowest first; its length is negative if it is.
    fn long(&mut self) -> Result<i64, Stop> {
        let length = self.u32()?.cast_signed();
        let too_large = || Stop::Broken("an integer beyond 64 bits".to_owned());
        if length.unsigned_abs() > MAX_LONG_DIGITS {
            return Err(too_large());
        }
        let mut value: i128 = 0;
        for place in 0..length.unsigned_abs() {
            let digit = u16::from_le_bytes(self.bytes()?);
            value |= i128::from(digit & 0x7fff) << (15 * place);
        }
        i64::try_from(if length < 0 { -value } else { value }).map_err(|_| too_large())
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let [byte] = self.bytes()?;
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        let mut read = 0;
        while read < N {
            match self.input.read(&mut bytes[read..]) {
                Ok(0) => return Err(Stop::Cut),
                Ok(count) => {
                    read += count;
                    self.offset_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        Ok(bytes)
    }
}

/// Says what stands where something else should.
pub(super) fn unexpected(value: &Value, wanted: &str) -> Stop {
    let is = match value {
        Value::End => "the end of a dict",
        Value::Dict => "a dict",
        Value::Tuple { .. } => "a tuple",
        Value::Text(_) => "a string",
        Value::Int(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Function(_) => "a function",
    };
    Stop::Broken(format!("{is} in place of {wanted}"))
}
