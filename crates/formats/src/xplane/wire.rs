//! The wire format of protobuf: fields of a message that lies in memory, and of one that is being read.

use std::io::{self, Read};

/// Why a message cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It ends inside a field.
    Cut,
    /// It is not protobuf from here on.
    Invalid,
}

/// Number of a field, and how its value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub number: u32,
    pub wire: Wire,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    Bytes,
    Fixed32,
}

impl Key {
    fn new(key: u64) -> Result<Self, Broken> {
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Bytes,
            5 => Wire::Fixed32,
            _ => return Err(Broken::Invalid),
        };
        match u32::try_from(key >> 3) {
            Ok(number @ 1..=0x1FFF_FFFF) => Ok(Self { number, wire }),
            _ => Err(Broken::Invalid),
        }
    }
}

/// A value of a field in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

/// The fields of a message in memory, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next field.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Item<'a>)>, Broken> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = Key::new(self.varint()?)?;
        let item = match key.wire {
            Wire::Varint => Item::Varint(self.varint()?),
            Wire::Fixed64 => Item::Fixed64(u64::from_le_bytes(*self.array()?)),
            Wire::Fixed32 => {
                self.array::<4>()?;
                Item::Fixed32
            }
            Wire::Bytes => {
                let length = usize::try_from(self.varint()?).map_err(|_| Broken::Cut)?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(Broken::Cut)?;
                self.0 = rest;
                Item::Bytes(bytes)
            }
        };
        Ok(Some((key.number, item)))
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Broken> {
        let (value, length) = varint(self.0)?;
        self.0 = &self.0[length..];
        Ok(value)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Broken> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Broken::Cut)?;
        self.0 = rest;
        Ok(array)
    }
}

/// A varint at the front of `bytes`, and how many of them it takes.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Result<(u64, usize), Broken> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).wrapping_shl(7 * index as u32);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    Err(if bytes.len() < 10 { Broken::Cut } else { Broken::Invalid })
}

/// Bytes that are asked for at once.
const READ_BYTES: usize = 256 << 10;

/// Messages that are being read: only a piece of them is in memory.
pub(super) struct Stream<'i> {
    input: &'i mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    /// Where `start` is in the plain bytes.
    pub offset_bytes: u64,
    is_at_end: bool,
}

/// A field of a message that is being read; its bytes, if it has some, come next.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamField {
    pub key: Key,
    /// The value of a varint; the length of bytes.
    pub value: u64,
}

impl<'i> Stream<'i> {
    pub(super) fn new(input: &'i mut dyn Read) -> Self {
        Self { input, buffer: Vec::new(), start: 0, offset_bytes: 0, is_at_end: false }
    }

    /// The next field of a message that ends at `end`; `None` where the message or the input ends. What is cut stays
    /// where it is, so that bytes which are there can be read.
    pub(super) fn field(&mut self, end: u64) -> io::Result<Result<Option<StreamField>, Broken>> {
        // Two varints, or one and eight bytes.
        self.fill(20)?;
        let left = usize::try_from(end.saturating_sub(self.offset_bytes)).unwrap_or(usize::MAX);
        let bytes = &self.buffer[self.start..];
        let bytes = &bytes[..bytes.len().min(left)];
        if bytes.is_empty() {
            return Ok(Ok(None));
        }
        let found = (|| {
            let (key, key_length) = varint(bytes)?;
            let key = Key::new(key)?;
            let (value, length) = match key.wire {
                Wire::Varint | Wire::Bytes => varint(&bytes[key_length..])?,
                Wire::Fixed64 if bytes.len() - key_length >= 8 => (0, 8),
                Wire::Fixed32 if bytes.len() - key_length >= 4 => (0, 4),
                Wire::Fixed64 | Wire::Fixed32 => return Err(Broken::Cut),
            };
            Ok((StreamField { key, value }, key_length + length))
        })();
        Ok(found.map(|(field, length)| {
            self.consume(length);
            Some(field)
        }))
    }

    /// So many of the next bytes, or those that are left.
    pub(super) fn bytes(&mut self, length: usize) -> io::Result<&[u8]> {
        self.fill(length)?;
        let bytes = &self.buffer[self.start..];
        Ok(&bytes[..bytes.len().min(length)])
    }

    /// Goes past bytes that `bytes` gave.
    pub(super) fn consume(&mut self, length: usize) {
        self.start += length;
        self.offset_bytes += length as u64;
    }

    /// Goes to `end`; `false` if the input ends before.
    pub(super) fn skip_to(&mut self, end: u64) -> io::Result<bool> {
        while self.offset_bytes < end {
            self.fill(1)?;
            let held = self.buffer.len() - self.start;
            if held == 0 {
                return Ok(false);
            }
            self.consume(usize::try_from(end - self.offset_bytes).unwrap_or(usize::MAX).min(held));
        }
        Ok(true)
    }

    /// Reads until so many bytes are there, or the input ends.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        if self.buffer.len() - self.start >= length || self.is_at_end {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        // A length is what the file says: memory grows with what is really there.
        while self.buffer.len() < length && !self.is_at_end {
            let before = self.buffer.len();
            (&mut *self.input).take(READ_BYTES as u64).read_to_end(&mut self.buffer)?;
            self.is_at_end = self.buffer.len() == before;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_one_by_one_until_the_break() {
        let mut fields = Fields(b"\x08\x96\x01\x12\x02ab\x19\x01\0\0\0\0\0\0\0\x25\0\0\0\0\x1a\x05x");
        assert_eq!(fields.next(), Ok(Some((1, Item::Varint(150)))));
        assert_eq!(fields.next(), Ok(Some((2, Item::Bytes(b"ab")))));
        assert_eq!(fields.next(), Ok(Some((3, Item::Fixed64(1)))));
        assert_eq!(fields.next(), Ok(Some((4, Item::Fixed32))));
        assert_eq!(fields.next(), Err(Broken::Cut));
        for (bytes, want) in [
            (&b"\x03"[..], Broken::Invalid),
            (b"\x06\x01", Broken::Invalid),
            (b"\0\x01", Broken::Invalid),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Broken::Invalid),
            (b"\x08\x80", Broken::Cut),
        ] {
            assert_eq!(Fields(bytes).next(), Err(want), "{bytes:?}");
        }
    }

    #[test]
    fn a_stream_gives_what_is_left_of_a_cut_field() {
        let mut input = &b"\x0a\x7fabc"[..];
        let mut stream = Stream::new(&mut input);
        let field = stream.field(u64::MAX).unwrap().unwrap().unwrap();
        assert_eq!((field.key.number, field.value), (1, 127));
        assert_eq!(stream.bytes(127).unwrap(), b"abc");
        assert!(!stream.skip_to(129).unwrap());
        assert_eq!(stream.offset_bytes, 5);
        assert!(stream.field(u64::MAX).unwrap().unwrap().is_none());
    }
}
