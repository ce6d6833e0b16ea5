//! Every text of a source once, behind a small number.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A text of one source. Numbers follow the order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextId(u32);

impl TextId {
    /// The number, for tables indexed by text.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The texts of one source, one behind the other in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    hasher: DefaultHashBuilder,
    ids: HashTable<TextId>,
    texts: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Strings {
    /// The number of `text`, new if it was not there.
    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        let Self { hasher, ids, texts, ends } = self;
        let hash = hasher.hash_one(text);
        if let Some(&id) = ids.find(hash, |&id| slice(texts, ends, id) == text) {
            return id;
        }
        let id = TextId(ends.len() as u32);
        texts.push_str(text);
        ends.push(texts.len());
        ids.insert_unique(hash, id, |&id| hasher.hash_one(slice(texts, ends, id)));
        id
    }

    /// The text behind a number.
    pub(crate) fn text(&self, id: TextId) -> &str {
        slice(&self.texts, &self.ends, id)
    }
}

fn slice<'a>(texts: &'a str, ends: &[usize], id: TextId) -> &'a str {
    let start = if id.0 == 0 { 0 } else { ends[id.index() - 1] };
    &texts[start..ends[id.index()]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number() {
        let mut strings = Strings::default();
        let texts = ["", "a", "ab", "b", "aten::add", "é"];
        let ids: Vec<TextId> = texts.iter().map(|text| strings.intern(text)).collect();
        for (text, id) in texts.iter().zip(ids) {
            assert_eq!((strings.intern(text), strings.text(id)), (id, *text));
        }
    }
}
