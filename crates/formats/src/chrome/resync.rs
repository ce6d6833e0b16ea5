//! Finds the way back into a broken document: the next place that looks like the start of an event, the end of the
//! events, or a key of the root.
//!
//! Everything here looks at bytes in memory and says when it needs more of them; it never goes back.

use memchr::{memchr, memchr3, memmem};

use super::keys::{is_distinct_event_key, is_event_key, is_likely_root_key, is_root_key};
use super::window::CONTEXT_BYTES;

/// The key of the list of events, in its quotes.
pub(super) const EVENTS_KEY: &[u8] = b"\"traceEvents\"";

/// A key longer than this is none that is looked for.
const MAX_KEY_BYTES: usize = 64;

/// Spaces that are passed between tokens when looking ahead.
const MAX_SPACE_BYTES: usize = 4096;

/// What a look at some bytes says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look<T> {
    /// It is so.
    Yes(T),
    /// It is not.
    No,
    /// It depends on bytes that are not in memory.
    More,
}

impl<T> Look<T> {
    /// Looks further if it is so.
    pub(super) fn then<U>(self, further: impl FnOnce(T) -> Look<U>) -> Look<U> {
        match self {
            Self::Yes(answer) => further(answer),
            Self::No => Look::No,
            Self::More => Look::More,
        }
    }

    /// Another answer if it is so.
    pub(super) fn with<U>(self, answer: U) -> Look<U> {
        self.then(|_| Look::Yes(answer))
    }

    fn when(is_so: bool) -> Look<()> {
        if is_so { Look::Yes(()) } else { Look::No }
    }
}

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// The place that was looked for.
    Found(usize),
    /// Not before this place; go on from here when there are more bytes.
    Until(usize),
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The next byte from `at` that is not a space, and its place.
pub(super) fn next_token(bytes: &[u8], at: usize) -> Look<(u8, usize)> {
    token_within(bytes, at, MAX_SPACE_BYTES)
}

/// The same behind as many spaces as `most`.
pub(super) fn token_within(bytes: &[u8], at: usize, most: usize) -> Look<(u8, usize)> {
    let rest = bytes.get(at..).unwrap_or_default();
    let spaces = rest.iter().take(most).take_while(|&&byte| is_space(byte)).count();
    match rest.get(spaces) {
        Some(&byte) if !is_space(byte) => Look::Yes((byte, at + spaces)),
        Some(_) => Look::No,
        None => Look::More,
    }
}

/// The key at `at` (its quote) if a colon follows it, and the place of that colon.
pub(super) fn member_key(bytes: &[u8], at: usize) -> Look<(&[u8], usize)> {
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let near = &rest[..rest.len().min(MAX_KEY_BYTES + 1)];
    let Some(length) = memchr(b'"', near) else {
        return if near.len() > MAX_KEY_BYTES { Look::No } else { Look::More };
    };
    next_token(bytes, at + length + 2).then(|(byte, colon)| match byte {
        b':' => Look::Yes((&near[..length], colon)),
        _ => Look::No,
    })
}

/// Whether an object begins at `at` whose first key is one of an event.
pub(super) fn event_start(bytes: &[u8], at: usize) -> Look<()> {
    match bytes.get(at) {
        Some(b'{') => next_token(bytes, at + 1).then(|(_, quote)| keyed_by(bytes, quote, is_event_key)),
        Some(_) => Look::No,
        None => Look::More,
    }
}

/// Whether a member begins at `quote` with a key that `is_known`.
fn keyed_by(bytes: &[u8], quote: usize, is_known: fn(&[u8]) -> bool) -> Look<()> {
    match bytes.get(quote) {
        Some(b'"') => member_key(bytes, quote).then(|(key, _)| Look::<()>::when(is_known(key))),
        Some(_) => Look::No,
        None => Look::More,
    }
}

/// Whether the list goes on behind its `]` at `at`, which then is what became of a comma or of the brace of an event.
pub(super) fn list_goes_on(bytes: &[u8], at: usize) -> Look<()> {
    next_token(bytes, at + 1).then(|(byte, next)| match byte {
        b',' => next_token(bytes, next + 1).then(|(byte, next)| match byte {
            b'"' => keyed_by(bytes, next, is_distinct_event_key),
            _ => event_start(bytes, next),
        }),
        b'"' => keyed_by(bytes, next, is_event_key),
        _ => event_start(bytes, next),
    })
}

/// Where the elements begin when `at` is the end of the key `traceEvents`, and whether all is well before them.
///
/// One byte may be wrong: the colon or the bracket.
pub(super) fn list_start(bytes: &[u8], at: usize) -> Look<(usize, bool)> {
    let mut place = at;
    let mut has_colon = false;
    for passed in 0..3 {
        match next_token(bytes, place) {
            Look::Yes((b'[', bracket)) if passed < 2 => return Look::Yes((bracket + 1, has_colon)),
            Look::Yes((b'{', brace)) => match event_start(bytes, brace) {
                Look::Yes(()) => return Look::Yes((brace, false)),
                Look::No => place = brace + 1,
                Look::More => return Look::More,
            },
            Look::Yes((byte, next)) => {
                has_colon |= passed == 0 && byte == b':';
                place = next + 1;
            }
            Look::No => return Look::No,
            Look::More => return Look::More,
        }
    }
    Look::No
}

/// Searches from `from` for the next place where the list of events can be read on: the start of an event, the `]`
/// before a key of the root or before the end, or the comma before a key of the root.
pub(super) fn find_in_list(bytes: &[u8], from: usize, at_end: bool) -> Search {
    let mut at = from;
    while let Some(found) = memchr3(b'{', b']', b',', bytes.get(at..).unwrap_or_default()) {
        at += found;
        let look = match bytes[at] {
            b'{' if !is_after_event(bytes, at) => Look::No,
            b'{' => event_start(bytes, at),
            b']' => list_end(bytes, at, at_end),
            _ => root_key_after(bytes, at, is_root_key),
        };
        match look {
            Look::Yes(()) => return Search::Found(at),
            Look::More if !at_end => return Search::Until(at),
            Look::No | Look::More => at += 1,
        }
    }
    Search::Until(bytes.len())
}

/// Whether the key of the list of events is in `bytes`, with its list.
pub(super) fn holds_list(bytes: &[u8]) -> bool {
    let mut keys = memmem::find_iter(bytes, EVENTS_KEY);
    keys.any(|at| matches!(list_start(bytes, at + EVENTS_KEY.len()), Look::Yes((_, true))))
}

/// Searches from `from` for the next key of the root.
pub(super) fn find_in_root(bytes: &[u8], from: usize, at_end: bool) -> Search {
    let mut at = from;
    while let Some(found) = memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        at += found;
        let look = match member_key(bytes, at) {
            Look::Yes((key, _)) if is_root_key(key) => Look::Yes(()),
            // The colon after this one key may be what is broken.
            _ if bytes[at..].starts_with(EVENTS_KEY) => list_start(bytes, at + EVENTS_KEY.len()).with(()),
            look => look.then(|_| Look::No),
        };
        match look {
            Look::Yes(()) => return Search::Found(at),
            Look::More if !at_end => return Search::Until(at),
            Look::No | Look::More => at += 1,
        }
    }
    Search::Until(bytes.len())
}

/// Whether an event may begin at `at`, by what is before it: not as the value of a key, nor as the first element of a
/// list that is one.
fn is_after_event(bytes: &[u8], at: usize) -> bool {
    let near = &bytes[at.saturating_sub(CONTEXT_BYTES)..at];
    let mut before = near.iter().rev().copied().filter(|&byte| !is_space(byte));
    match before.next() {
        Some(b':') => before.next() != Some(b'"'),
        Some(b'[') => before.next() == Some(b'}'),
        _ => true,
    }
}

/// Whether the `]` at `at` is followed by a key of the root, or by nothing but the end.
fn list_end(bytes: &[u8], at: usize, at_end: bool) -> Look<()> {
    let look = match next_token(bytes, at + 1) {
        Look::Yes((b',', comma)) => return root_key_after(bytes, comma, is_likely_root_key),
        Look::Yes((b'}', brace)) => next_token(bytes, brace + 1),
        look => look,
    };
    match look {
        Look::More if at_end => Look::Yes(()),
        look => look.then(|_| Look::No),
    }
}

fn root_key_after(bytes: &[u8], comma: usize, is_known: fn(&[u8]) -> bool) -> Look<()> {
    next_token(bytes, comma + 1).then(|(_, quote)| keyed_by(bytes, quote, is_known))
}
