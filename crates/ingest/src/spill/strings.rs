//! Texts of a source behind small numbers, as many as there is room for.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::row::Field;
use super::scratch::{Held, Scratch};

/// A text of one source that has a number. Numbers follow the order of first appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextId(u32);

impl TextId {
    /// The number, for tables indexed by text.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A text of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// One with a number.
    Id(TextId),
    /// One that lies behind the record, because there was no room for it among the others.
    Behind { start: u32, length: u32 },
}

impl Default for Text {
    fn default() -> Self {
        Self::Behind { start: 0, length: 0 }
    }
}

impl Field for Option<Text> {
    const BYTES: usize = u64::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        let bits = match self {
            None => u64::MAX,
            Some(Text::Id(id)) => u64::from(id.0),
            Some(Text::Behind { start, length }) => 1 << 63 | u64::from(start) << 32 | u64::from(length),
        };
        bits.put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        match u64::take(bytes) {
            u64::MAX => None,
            bits if bits >> 63 == 0 => Some(Text::Id(TextId(bits as u32))),
            bits => Some(Text::Behind { start: (bits >> 32) as u32 & (u32::MAX >> 1), length: bits as u32 }),
        }
    }
}

/// The texts of one source, one behind the other in one piece of memory.
#[derive(Debug)]
pub(crate) struct Strings {
    hasher: DefaultHashBuilder,
    ids: HashTable<TextId>,
    texts: String,
    /// Where each text ends.
    ends: Vec<u32>,
    limit_bytes: usize,
    held: Held,
}

/// Memory that a text takes beside its bytes.
const BYTES_PER_TEXT: usize = 16;

impl Strings {
    /// An eighth of the memory is for texts: those of an ordinary trace repeat and take a few megabytes.
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            ids: HashTable::new(),
            texts: String::new(),
            ends: Vec::new(),
            limit_bytes: (scratch.limit_bytes() / 8).min(u32::MAX as usize / 2),
            held: Held::new(scratch),
        }
    }

    /// The number of `text`; when there is no room for another text, it is appended to `behind`.
    #[inline]
    pub(crate) fn text(&mut self, text: &str, behind: &mut Vec<u8>) -> Text {
        let hash = self.hasher.hash_one(text);
        if let Some(id) = self.find(hash, text) {
            return Text::Id(id);
        }
        if self.memory_bytes() + text.len() <= self.limit_bytes {
            return Text::Id(self.add(hash, text));
        }
        let start = behind.len() as u32;
        behind.extend_from_slice(text.as_bytes());
        Text::Behind { start, length: text.len() as u32 }
    }

    /// The number of `text`, new if it was not there: for the few texts that are needed by number.
    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        let hash = self.hasher.hash_one(text);
        self.find(hash, text).unwrap_or_else(|| self.add(hash, text))
    }

    /// The text behind a number.
    pub(crate) fn get(&self, id: TextId) -> &str {
        slice(&self.texts, &self.ends, id)
    }

    /// The text of a record; `behind` are the texts that lie behind it.
    #[inline]
    pub(crate) fn resolve<'a>(&'a self, text: Text, behind: &'a [u8]) -> &'a str {
        match text {
            Text::Id(id) => self.get(id),
            Text::Behind { start, length } => {
                let (start, length) = (start as usize, length as usize);
                behind.get(start..start + length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
            }
        }
    }

    fn find(&self, hash: u64, text: &str) -> Option<TextId> {
        self.ids.find(hash, |&id| slice(&self.texts, &self.ends, id) == text).copied()
    }

    fn add(&mut self, hash: u64, text: &str) -> TextId {
        let Self { hasher, ids, texts, ends, .. } = self;
        let id = TextId(ends.len() as u32);
        texts.push_str(text);
        ends.push(texts.len() as u32);
        ids.insert_unique(hash, id, |&id| hasher.hash_one(slice(texts, ends, id)));
        self.held.grew_to(self.memory_bytes());
        id
    }

    fn memory_bytes(&self) -> usize {
        self.texts.len() + self.ends.len() * BYTES_PER_TEXT
    }
}

fn slice<'a>(texts: &'a str, ends: &[u32], id: TextId) -> &'a str {
    let start = if id.0 == 0 { 0 } else { ends[id.index() - 1] as usize };
    &texts[start..ends[id.index()] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(limit_bytes: u64) -> Strings {
        Strings::new(&Scratch::new(&std::env::temp_dir(), limit_bytes))
    }

    #[test]
    fn equal_texts_have_one_number() {
        let mut strings = strings(1 << 20);
        let texts = ["", "a", "ab", "b", "aten::add", "é"];
        let ids: Vec<TextId> = texts.iter().map(|text| strings.intern(text)).collect();
        for (text, id) in texts.iter().zip(ids) {
            assert_eq!((strings.intern(text), strings.get(id)), (id, *text));
        }
    }

    #[test]
    fn texts_without_room_lie_behind() {
        let mut strings = strings(8 * 40);
        let mut behind = Vec::new();
        let texts = ["first", "second", "third", "fourth é", "", "first"];
        let found: Vec<Text> = texts.iter().map(|text| strings.text(text, &mut behind)).collect();
        for (text, found) in texts.iter().zip(&found) {
            assert_eq!(strings.resolve(*found, &behind), *text);
        }
        assert_eq!(found[5], found[0]);
        assert!(matches!(found[3], Text::Behind { .. }), "{found:?}");
        let mut bytes = Vec::new();
        for &text in &found {
            Some(text).put(&mut bytes);
        }
        None::<Text>.put(&mut bytes);
        let mut left = &bytes[..];
        for text in found {
            assert_eq!(<Option<Text> as Field>::take(&mut left), Some(text));
        }
        assert_eq!(<Option<Text> as Field>::take(&mut left), None);
    }
}
