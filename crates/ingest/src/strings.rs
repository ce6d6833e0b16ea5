//! Every text of a source once, behind a small number.

use std::collections::HashMap;
use std::rc::Rc;

/// A text of one source. Numbers follow the order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextId(u32);

impl TextId {
    /// The number, for tables indexed by text.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The texts of one source.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    ids: HashMap<Rc<str>, TextId>,
    texts: Vec<Rc<str>>,
}

impl Strings {
    /// The number of `text`, new if it was not there.
    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = TextId(self.texts.len() as u32);
        let text: Rc<str> = text.into();
        self.texts.push(Rc::clone(&text));
        self.ids.insert(text, id);
        id
    }

    /// The text behind a number.
    pub(crate) fn text(&self, id: TextId) -> &str {
        &self.texts[id.index()]
    }
}
