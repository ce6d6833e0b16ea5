//! A text column of one batch: keys into the texts that the batch uses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow::datatypes::Int32Type;
use arrow::error::ArrowError;

use super::sparse::Sparse;

#[derive(Debug, Default)]
pub(super) struct TextValues {
    keys: Sparse<i32>,
    /// The numbered text of the row before: it is often the same.
    last: Option<(u32, i32)>,
    key_of_number: HashMap<u32, i32, BuildHasherDefault<NumberHasher>>,
    /// The few words, with their keys; the last one used first.
    words: Vec<(&'static str, i32)>,
    texts: Texts,
}

/// Texts one behind the other.
#[derive(Debug, Default)]
struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

/// Spreads numbers, which are our own: nobody can choose them so that they collide.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0 = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl TextValues {
    /// Puts a text; gives the bytes that the batch grew by.
    pub(super) fn put(&mut self, row: usize, text: &str) -> usize {
        let key = self.texts.push(text);
        self.keys.put(row, key);
        text.len()
    }

    /// The same for a text that has a number.
    #[inline]
    pub(super) fn put_numbered<'t>(&mut self, row: usize, number: u32, text: impl FnOnce() -> &'t str) -> usize {
        let held = self.texts.bytes.len();
        let Self { keys, last, key_of_number, texts, .. } = self;
        let key = match *last {
            Some((last, key)) if last == number => key,
            _ => {
                let key = *key_of_number.entry(number).or_insert_with(|| texts.push(text()));
                *last = Some((number, key));
                key
            }
        };
        keys.put(row, key);
        self.texts.bytes.len() - held
    }

    /// The same for one of a few words, which hardly count.
    #[inline]
    pub(super) fn put_word(&mut self, row: usize, word: &'static str) -> usize {
        // Mostly it is the very same text, which is faster to see than an equal one.
        let is_known = |known: &'static str| std::ptr::eq(known, word) || known == word;
        let index = self.words.iter().position(|(known, _)| is_known(known)).unwrap_or_else(|| {
            self.words.push((word, self.texts.push(word)));
            self.words.len() - 1
        });
        self.words.swap(0, index);
        self.keys.put(row, self.words[0].1);
        0
    }

    pub(super) fn take(&mut self, rows: usize) -> Result<Option<ArrayRef>, ArrowError> {
        self.last = None;
        self.key_of_number.clear();
        self.words.clear();
        let texts = std::mem::take(&mut self.texts);
        let Some(keys) = self.keys.take(rows) else { return Ok(None) };
        let keys = PrimitiveArray::<Int32Type>::new(keys.0.into(), keys.1);
        Ok(Some(Arc::new(DictionaryArray::try_new(keys, Arc::new(texts.into_array()))?)))
    }
}

impl Texts {
    fn push(&mut self, text: &str) -> i32 {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        (self.ends.len() - 1) as i32
    }

    fn into_array(self) -> StringArray {
        let mut start = 0;
        StringArray::from_iter_values(self.ends.iter().map(|&end| {
            let text = &self.bytes[start..end];
            start = end;
            text
        }))
    }
}
