//! Makes text from traces safe to print: a kernel name must not move the cursor, change a color or hide a word.

use std::borrow::Cow;

/// One line of text without control characters. Those below space become their pictures (`␛`, `␊`), all others and
/// the invisible marks that reorder text become `�`.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    replace(text, |_| false)
}

/// The same for a whole document: line ends stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    replace(text, |character| matches!(character, '\n' | '\r'))
}

fn replace(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let acts = |character: char| !keep(character) && acts_on_terminal(character);
    if text.chars().any(acts) {
        Cow::Owned(text.chars().map(|character| if acts(character) { picture(character) } else { character }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a terminal may do something other than draw the character.
pub(crate) fn acts_on_terminal(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn picture(character: char) -> char {
    match character as u32 {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}
