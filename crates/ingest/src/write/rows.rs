//! Texts of a source as cells of its rows.

use stepscope_store::RowWriter;

use crate::spill::strings::{Strings, Text, TextId};

/// The rows of one table of a source.
pub(crate) type Rows<'a> = RowWriter<&'a Strings>;

/// Cells that are texts of the source.
pub(crate) trait SourceText {
    /// The text of a record; `behind` are the texts behind it.
    fn source_text(&mut self, text: impl Into<Option<Text>>, behind: &[u8]) -> &mut Self;

    /// A text that has a number.
    fn text_id(&mut self, id: Option<TextId>) -> &mut Self {
        self.source_text(id.map(Text::Id), &[])
    }
}

impl SourceText for Rows<'_> {
    #[inline]
    fn source_text(&mut self, text: impl Into<Option<Text>>, behind: &[u8]) -> &mut Self {
        let strings = *self.texts();
        match text.into() {
            Some(Text::Id(id)) => self.numbered_text(id.index() as u32, || strings.get(id)),
            Some(text @ Text::Behind { .. }) => self.text(strings.resolve(text, behind)),
            None => self.text(None::<&str>),
        }
    }
}
