//! The list of events: every element counts once, as an event or as a loss, whatever is broken between them.

use stepscope_model::warning::{
    BAD_VALUE, BROKEN_EVENT, CUT_EVENT, EVENT_TOO_DEEP, EVENT_TOO_LONG, GARBAGE, NOT_AN_OBJECT, REPAIRED_QUOTES,
    WarningCode,
};

use super::document::{Document, ListEnd};
use super::keys::{is_event_key, is_root_key};
use super::resync::{Look, Search, event_start, find_in_list, list_goes_on, member_key, next_token};
use super::scan::{Scanner, Stop};
use super::window::Window;
use crate::error::FormatError;
use crate::registry::Limits;

/// Bytes that may always be scanned in vain before the search skips what was scanned.
const WASTE_BYTES: u64 = 16 << 20;

/// What a key at the level of the list is a key of.
#[derive(Clone, Copy)]
enum Stray {
    /// The first key of an event that lost its brace.
    Event,
    /// A key of the root: the bracket of the list was lost.
    Root,
    /// Some other key.
    Other,
}

impl Document<'_, '_> {
    /// Reads the elements of a list whose `[` is passed.
    pub(super) fn read_list(&mut self) -> Result<ListEnd, FormatError> {
        let mut is_comma_due = false;
        loop {
            if self.batch.is_full(self.window.rest().len()) {
                self.pass_on()?;
            }
            let Some(byte) = self.skip_space()? else { return Ok(ListEnd::Cut) };
            match byte {
                b',' => {
                    self.window.consume(1);
                    is_comma_due = false;
                }
                b']' => {
                    if self.look(|bytes| list_goes_on(bytes, 0))?.is_none() {
                        self.window.consume(1);
                        return Ok(ListEnd::Closed);
                    }
                    self.warn(GARBAGE, 0);
                    self.window.consume(1);
                    is_comma_due = false;
                }
                b'{' => {
                    if is_comma_due {
                        self.warn(GARBAGE, 0);
                    }
                    is_comma_due = self.read_event()?;
                    if is_comma_due && self.window.rest().starts_with(',') {
                        self.window.consume(1);
                        is_comma_due = false;
                    }
                }
                b'"' => match self.look(|bytes| stray_key(bytes, 0))? {
                    Some(Stray::Root) => {
                        self.warn(GARBAGE, 0);
                        return Ok(ListEnd::Closed);
                    }
                    Some(Stray::Event) => {
                        self.has_events = true;
                        self.lose(BROKEN_EVENT, 0);
                        self.go_on_from(1)?;
                        is_comma_due = false;
                    }
                    Some(Stray::Other) => is_comma_due = self.skip_garbage()?,
                    None => is_comma_due = self.read_other_element()?,
                },
                // A bracket before an event is what became of the comma between two, or it begins an element.
                b'[' if self.hides_event(is_comma_due)? => is_comma_due = self.skip_garbage()?,
                _ => is_comma_due = self.read_other_element()?,
            }
        }
    }

    /// Reads the event whose `{` is next. Gives whether a comma is due: not when the place was searched for.
    fn read_event(&mut self) -> Result<bool, FormatError> {
        let limits = self.scan_limits();
        loop {
            let text = element_text(&self.window, self.limits);
            let outcome = match self.shapes.scan(text, limits, &mut self.record) {
                Some(length) => Ok(length),
                None => self.record.scan(text, limits, false).inspect(|_| self.shapes.learn(text, &self.record.path)),
            };
            return match outcome {
                Ok(length) => {
                    self.give_event(length);
                    Ok(true)
                }
                Err(Stop::More) if self.may_grow() => {
                    self.more()?;
                    continue;
                }
                Err(Stop::Broken(at)) => self.repair_event(at),
                Err(stop) => self.lose_scanned(stop),
            };
        }
    }

    /// The event at the current place, as scanned, goes to the sink.
    fn give_event(&mut self, length: usize) {
        let offset_bytes = self.window.offset_bytes(0);
        self.batch.event(self.window.place(), self.position, offset_bytes, &self.record);
        self.has_events = self.has_events || self.record.is_like_event();
        if self.record.saw_bad_value {
            self.warn_event(BAD_VALUE, 0);
        }
        self.position += 1;
        self.window.consume(length);
    }

    /// The event at the current place is broken at `at`. Most often a quote in a text is not escaped: it is read once
    /// more with that in mind, up to where the next event begins, and if that does not help it is lost.
    fn repair_event(&mut self, at: usize) -> Result<bool, FormatError> {
        let limits = self.scan_limits();
        if let Some(end) = self.find_next(1)?
            && let Ok(length) = self.record.scan(&self.window.rest()[..end], limits, true)
        {
            self.warn_event(REPAIRED_QUOTES, at);
            self.give_event(length);
            return Ok(true);
        }
        self.lose_scanned(Stop::Broken(at))
    }

    /// The element at the current place is lost, as its scan was stopped, and reading goes on at the next one.
    fn lose_scanned(&mut self, stop: Stop) -> Result<bool, FormatError> {
        let held = element_text(&self.window, self.limits).len();
        match stop {
            Stop::More if held == self.window.rest().len() => {
                self.lose(CUT_EVENT, 0);
                self.window.consume(held);
            }
            Stop::More => {
                self.lose(EVENT_TOO_LONG, 0);
                self.go_on_after(held)?;
            }
            Stop::Long(at) => {
                self.lose(EVENT_TOO_LONG, at);
                self.go_on_after(at)?;
            }
            // What nests too deep is most likely one thing: going on inside it would find each level again.
            Stop::Deep(at) => {
                self.lose(EVENT_TOO_DEEP, 0);
                self.go_on_from(at)?;
            }
            Stop::Broken(at) => {
                self.lose(BROKEN_EVENT, at);
                self.go_on_after(at)?;
            }
        }
        Ok(false)
    }

    /// Where the next event begins after `ahead`, or the list ends, when that is within the length of an event.
    fn find_next(&mut self, ahead: usize) -> Result<Option<usize>, FormatError> {
        let mut from = ahead;
        loop {
            let place = self.window.place();
            let found = find_in_list(self.window.text().as_bytes(), place + from, self.window.at_end());
            let (Search::Found(at) | Search::Until(at)) = found;
            let is_near = at - place <= self.limits.max_event_bytes;
            if !is_near || self.window.at_end() || matches!(found, Search::Found(_)) {
                return Ok(is_near.then_some(at - place));
            }
            from = at - place;
            self.more()?;
        }
    }

    /// Whether more of the element at the current place may come: the input goes on, and it is not too long yet.
    fn may_grow(&self) -> bool {
        !self.window.at_end() && self.window.rest().len() <= self.limits.max_event_bytes
    }

    /// Reads an element that is not an object, or passes what is no element at all.
    fn read_other_element(&mut self) -> Result<bool, FormatError> {
        let limits = self.scan_limits();
        loop {
            let text = element_text(&self.window, self.limits);
            let mut scanner = Scanner::new(text, limits, false);
            let value = scanner.value(0);
            let outcome = value.and_then(|slot| {
                let end = scanner.pos;
                let is_followed = matches!(scanner.peek_token()?, b',' | b']');
                if is_followed && slot.start() < slot.end() { Ok(end) } else { Err(Stop::Broken(0)) }
            });
            let is_list = text.starts_with('[');
            // A word that the input ends in is an element if it began like one.
            let is_begun =
                text.starts_with(|first: char| matches!(first, '"' | '[' | '-' | '0'..='9' | 't' | 'f' | 'n'));
            return match outcome {
                Ok(end) => {
                    self.lose(NOT_AN_OBJECT, 0);
                    self.window.consume(end);
                    Ok(true)
                }
                Err(Stop::More) if self.may_grow() => {
                    self.more()?;
                    continue;
                }
                Err(Stop::More) if value.is_ok() => {
                    let end = scanner.pos;
                    self.lose(NOT_AN_OBJECT, 0);
                    self.window.consume(end);
                    Ok(true)
                }
                Err(Stop::More) if !is_begun => self.skip_garbage(),
                Err(Stop::Broken(_)) if !is_list => self.skip_garbage(),
                Err(stop) => self.lose_scanned(stop),
            };
        }
    }

    /// Whether the `[` at the current place is garbage before an event. It is none if it begins a whole list that other
    /// elements or the end of this list follow.
    fn hides_event(&mut self, is_comma_due: bool) -> Result<bool, FormatError> {
        if self.look(|bytes| next_token(bytes, 1).then(|(_, next)| event_start(bytes, next)))?.is_none() {
            return Ok(false);
        }
        if is_comma_due || self.is_too_much_wasted() {
            return Ok(true);
        }
        let limits = self.scan_limits();
        loop {
            let text = element_text(&self.window, self.limits);
            let mut scanner = Scanner::new(text, limits, false);
            match scanner.value(0).and_then(|_| element_follows(text, &mut scanner)) {
                Err(Stop::More) if self.may_grow() => {
                    // Twice as much each time, as the scan begins from the start.
                    let wanted = text.len() * 2;
                    while self.window.rest().len() < wanted && !self.window.at_end() {
                        self.more()?;
                    }
                }
                outcome => {
                    let is_garbage = outcome != Ok(true);
                    let length = scanner.pos as u64;
                    self.wasted_bytes += if is_garbage { length } else { 0 };
                    return Ok(is_garbage);
                }
            }
        }
    }

    /// Passes bytes that belong to no element. Gives whether a comma is due: never, as it may be what is broken.
    fn skip_garbage(&mut self) -> Result<bool, FormatError> {
        self.warn(GARBAGE, 0);
        // Often it is but one character: the comma, or the brace of the event that follows.
        let first = self.window.rest().chars().next().map_or(1, char::len_utf8);
        let next = self.look(|bytes| match next_token(bytes, first) {
            Look::Yes((b'{', at)) => event_start(bytes, at).with(at),
            Look::Yes((b'"', at)) => match stray_key(bytes, at) {
                Look::Yes(Stray::Other) => Look::No,
                look => look.with(at),
            },
            look => look.then(|_| Look::No),
        })?;
        match next {
            Some(ahead) => self.window.consume(ahead),
            None => self.go_on_from(1)?,
        }
        Ok(false)
    }

    /// The element at the current place is lost, because of what stands `ahead` in it.
    fn lose(&mut self, code: WarningCode, ahead: usize) {
        self.warn_event(code, ahead);
        self.is_truncated |= code == CUT_EVENT;
        // A bare list of other things is no trace, but one whose only event is broken is.
        self.has_events = self.has_events || event_start(self.window.rest().as_bytes(), 0) != Look::No;
        self.position += 1;
    }

    fn warn_event(&mut self, code: WarningCode, ahead: usize) {
        self.warn_about(code, Some(self.position), ahead);
    }

    /// Goes on after an element that was scanned in vain up to `scanned`: usually right behind its first byte, as
    /// whole events may be inside what a broken one ran into. An input made so that this happens again and again over
    /// the same bytes would take quadratic time; past a share of the input, what was scanned is skipped.
    fn go_on_after(&mut self, scanned: usize) -> Result<(), FormatError> {
        self.wasted_bytes += scanned as u64;
        let is_too_much = self.is_too_much_wasted();
        self.go_on_from(if is_too_much { scanned.max(1) } else { 1 })
    }

    fn is_too_much_wasted(&self) -> bool {
        self.wasted_bytes > WASTE_BYTES + 2 * self.window.offset_bytes(0)
    }

    /// Moves on to the next event, or the end of the list, at or after what is `ahead`.
    fn go_on_from(&mut self, ahead: usize) -> Result<(), FormatError> {
        self.window.consume(ahead);
        self.search(find_in_list).map(drop)
    }
}

/// What is in memory of the element at the current place: no more than an element may have, so that what becomes of
/// one that is too long or broken does not depend on where the blocks of the input end.
fn element_text<'w>(window: &'w Window<'_>, limits: &Limits) -> &'w str {
    let rest = window.rest();
    &rest[..rest.floor_char_boundary(limits.max_event_bytes)]
}

/// Whether the list of events goes on or ends behind the element that was scanned: not if a key of the root follows.
fn element_follows(text: &str, scanner: &mut Scanner<'_>) -> Result<bool, Stop> {
    match scanner.peek_token()? {
        b']' => Ok(true),
        b',' => {
            scanner.pos += 1;
            if scanner.peek_token()? != b'"' {
                return Ok(true);
            }
            match stray_key(text.as_bytes(), scanner.pos) {
                Look::Yes(_) => Ok(false),
                Look::No => Ok(true),
                Look::More => Err(Stop::More),
            }
        }
        _ => Ok(false),
    }
}

/// What the string at `at` is, if it is a key.
fn stray_key(bytes: &[u8], at: usize) -> Look<Stray> {
    member_key(bytes, at).then(|(key, _)| {
        Look::Yes(if is_event_key(key) {
            Stray::Event
        } else if is_root_key(key) {
            Stray::Root
        } else {
            Stray::Other
        })
    })
}
