//! The document around the events: the root, its header, and what is left when it is broken or cut.

use std::ops::Range;

use stepscope_model::Note;
use stepscope_model::warning::{BAD_VALUE, GARBAGE, HEADER_BROKEN, WarningCode};

use super::batch::{Batch, Outlet};
use super::record::Record;
use super::resync::{
    Look, Search, event_start, find_in_root, holds_list, is_space, list_start, next_token, token_within,
};
use super::scan::{Scan, ScanLimits, Scanner, Stop};
use super::shapes::Shapes;
use super::skip::Skipper;
use super::slot::Slot;
use super::window::Window;
use crate::error::FormatError;
use crate::looks_like::LooksLike;
use crate::registry::Limits;

/// A header value that is longer is passed over.
const MAX_HEADER_BYTES: usize = 16 << 20;

/// Plain bytes between two calls of `progress`.
const PROGRESS_BYTES: u64 = 4 << 20;

/// Bytes of the input that a warning quotes.
const EXCERPT_BYTES: usize = 60;

/// A document that is being read.
pub(super) struct Document<'r, 'o> {
    pub(super) window: Window<'r>,
    pub(super) limits: &'o Limits,
    outlet: &'o mut dyn Outlet,
    /// What was found in the text that is in memory.
    pub(super) batch: Batch,
    pub(super) record: Record,
    pub(super) shapes: Shapes,
    /// Elements of the list of events so far.
    pub(super) position: u64,
    /// Bytes that were scanned for events that turned out to be broken.
    pub(super) wasted_bytes: u64,
    pub(super) is_truncated: bool,
    is_bare_array: bool,
    /// There is a list of events: `traceEvents`, or a bare list of nothing else.
    pub(super) has_events: bool,
    progress_bytes: u64,
}

/// How the list of events ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// With its bracket, or with a key of the root where the bracket was lost.
    Closed,
    /// With the input.
    Cut,
}

impl<'r, 'o> Document<'r, 'o> {
    /// A document at the start of its first block, which is in the window.
    pub(super) fn new(window: Window<'r>, limits: &'o Limits, outlet: &'o mut dyn Outlet) -> Self {
        Self {
            window,
            limits,
            outlet,
            batch: Batch::default(),
            record: Record::default(),
            shapes: Shapes::default(),
            position: 0,
            wasted_bytes: 0,
            is_truncated: false,
            is_bare_array: false,
            has_events: false,
            progress_bytes: 0,
        }
    }

    /// Reads everything and gives the notes.
    pub(super) fn read(mut self) -> Result<Vec<Note>, FormatError> {
        let outcome = self.read_root();
        self.pass_on()?;
        outcome
    }

    fn read_root(&mut self) -> Result<Vec<Note>, FormatError> {
        if self.window.rest().starts_with('\u{FEFF}') {
            self.window.consume('\u{FEFF}'.len_utf8());
        }
        match self.skip_space()? {
            Some(b'[') => {
                self.window.consume(1);
                self.read_bare_array()?;
            }
            Some(b'{') if !self.begins_with_event(1)? => {
                self.window.consume(1);
                self.read_object()?;
            }
            // One byte stands where the bracket of the list should be.
            Some(_) if self.begins_with_event(1)? => {
                self.warn(HEADER_BROKEN, 0);
                self.window.consume(1);
                self.read_bare_array()?;
            }
            _ => {
                self.warn(HEADER_BROKEN, 0);
                if self.resync_root()? {
                    self.read_object()?;
                }
            }
        }
        self.drain()?;
        if !self.has_events {
            return Err(FormatError::NoEvents { looks_like: None });
        }
        let notes = [
            (self.window.holds_replacement(), Note::InvalidUtf8),
            (self.is_truncated, Note::JsonTruncated),
            (self.is_bare_array, Note::BareArray),
        ];
        Ok(notes.into_iter().filter_map(|(is_so, note)| is_so.then_some(note)).collect())
    }

    /// Reads on, and reports progress now and then.
    pub(super) fn more(&mut self) -> Result<(), FormatError> {
        self.pass_on()?;
        self.window.more()?;
        let plain_bytes = self.window.plain_bytes();
        if plain_bytes >= self.progress_bytes + PROGRESS_BYTES {
            self.progress_bytes = plain_bytes;
            self.batch.progress(plain_bytes);
        }
        Ok(())
    }

    /// Passes on what was found so far, with its text.
    pub(super) fn pass_on(&mut self) -> Result<(), FormatError> {
        if !self.batch.is_empty() {
            self.window.hand_over(&mut self.batch.text);
            self.batch = self.outlet.pass(std::mem::take(&mut self.batch))?;
        }
        Ok(())
    }

    /// Passes spaces and gives the byte behind them; `None` at the end of the input.
    pub(super) fn skip_space(&mut self) -> Result<Option<u8>, FormatError> {
        loop {
            let rest = self.window.rest().as_bytes();
            let spaces = rest.iter().take_while(|&&byte| is_space(byte)).count();
            let found = rest.get(spaces).copied();
            self.window.consume(spaces);
            if found.is_some() || self.window.at_end() {
                return Ok(found);
            }
            self.more()?;
        }
    }

    /// Answers a question about the bytes from the current place on, reading on as long as it needs more of them.
    pub(super) fn look<T: Copy>(&mut self, question: impl Fn(&[u8]) -> Look<T>) -> Result<Option<T>, FormatError> {
        loop {
            match question(self.window.rest().as_bytes()) {
                Look::Yes(answer) => return Ok(Some(answer)),
                Look::More if !self.window.at_end() => self.more()?,
                Look::No | Look::More => return Ok(None),
            }
        }
    }

    /// Moves on to the place that `find` finds, or to the end; `false` there.
    pub(super) fn search(&mut self, find: fn(&[u8], usize, bool) -> Search) -> Result<bool, FormatError> {
        loop {
            let place = self.window.place();
            match find(self.window.text().as_bytes(), place, self.window.at_end()) {
                Search::Found(at) => {
                    self.window.consume(at - place);
                    return Ok(true);
                }
                Search::Until(at) => self.window.consume(at - place),
            }
            if self.window.at_end() {
                let left = self.window.rest().len();
                self.window.consume(left);
                return Ok(false);
            }
            self.more()?;
        }
    }

    /// Warns about what stands `ahead` of the current place and belongs to no event.
    pub(super) fn warn(&mut self, code: WarningCode, ahead: usize) {
        self.warn_about(code, None, ahead);
    }

    /// Warns about what stands `ahead` of the current place, in the element at `position`.
    pub(super) fn warn_about(&mut self, code: WarningCode, position: Option<u64>, ahead: usize) {
        let offset_bytes = self.window.offset_bytes(ahead);
        let excerpt = excerpt(self.window.text(), self.window.place().saturating_add(ahead));
        self.batch.warning(code, position, offset_bytes, excerpt);
    }

    /// The limits of scanning an event.
    pub(super) fn scan_limits(&self) -> ScanLimits {
        ScanLimits { max_depth: self.limits.max_depth, max_string_bytes: self.limits.max_string_bytes }
    }

    fn begins_with_event(&mut self, ahead: usize) -> Result<bool, FormatError> {
        let found = self.look(|bytes| next_token(bytes, ahead).then(|(_, at)| event_start(bytes, at)))?;
        Ok(found.is_some())
    }

    fn read_bare_array(&mut self) -> Result<(), FormatError> {
        self.is_bare_array = true;
        self.has_events = matches!(self.skip_space()?, None | Some(b']'));
        if self.read_list()? == ListEnd::Cut {
            self.is_truncated = true;
        } else if self.skip_space()?.is_some() {
            self.warn(GARBAGE, 0);
        }
        if self.has_events { Ok(()) } else { Err(FormatError::Unrecognized(LooksLike::JsonList)) }
    }

    /// Reads the members of the root, of which the `{` is passed.
    fn read_object(&mut self) -> Result<(), FormatError> {
        let mut is_closed = false;
        loop {
            match self.skip_space()? {
                None => {
                    self.is_truncated |= !is_closed;
                    return Ok(());
                }
                Some(b',') => self.window.consume(1),
                Some(b'}') if !is_closed => {
                    self.window.consume(1);
                    is_closed = true;
                }
                Some(b'"') if !is_closed => self.read_member()?,
                Some(_) => {
                    self.warn(HEADER_BROKEN, 0);
                    if self.resync_root()? {
                        is_closed = false;
                    } else {
                        self.is_truncated |= !is_closed;
                        return Ok(());
                    }
                }
            }
        }
    }

    fn resync_root(&mut self) -> Result<bool, FormatError> {
        self.search(find_in_root)
    }

    /// Reads a member of the root whose quote is next.
    fn read_member(&mut self) -> Result<(), FormatError> {
        let limits = ScanLimits { max_depth: self.limits.max_depth, max_string_bytes: MAX_HEADER_BYTES };
        let key = match self.scan(|text| Scanner::new(text, limits, false).string().map(|key| (key, key.end())))? {
            Ok((key, _)) => key,
            Err(stop) => return self.lose_member(stop),
        };
        let is_events = key.text(self.window.rest()) == "traceEvents";
        if is_events && let Some((start, is_well)) = self.find_list(key.end() + 1)? {
            if !is_well {
                self.warn(HEADER_BROKEN, 0);
            }
            self.window.consume(start);
            self.has_events = true;
            self.is_truncated |= self.read_list()? == ListEnd::Cut;
            return Ok(());
        }
        let value = self.scan(|text| {
            let mut scanner = Scanner::new(text, limits, false);
            scanner.pos = key.end() + 1;
            scanner.colon()?;
            scanner.peek_token()?;
            let value = scanner.value(0)?;
            let end = scanner.pos;
            // A value whose end was lost goes on into the events and takes the end of the root for its own: the
            // input ends with it. Whatever follows it, a list inside it is part of it.
            if holds_list(&text.as_bytes()[key.end() + 1..end]) {
                scanner.peek_token()?;
            }
            Ok(((value, scanner.saw_bad_value), end))
        })?;
        let goes_on_into_events = matches!(value, Err(Stop::More | Stop::Long(_)))
            && holds_list(&self.window.rest().as_bytes()[key.end() + 1..]);
        match value {
            Err(_) if goes_on_into_events => self.lose_member(Stop::Broken(0)),
            Ok((_, end)) if is_events => {
                self.window.consume(end);
                Ok(())
            }
            Ok(((value, saw_bad_value), end)) => {
                self.give_header(key, value, saw_bad_value);
                self.window.consume(end);
                Ok(())
            }
            Err(Stop::Long(_)) => self.skip_value(key.end() + 1),
            Err(stop) => self.lose_member(stop),
        }
    }

    /// Where the elements begin when `ahead` is the end of the key `traceEvents`, and whether all is well before them.
    fn find_list(&mut self, ahead: usize) -> Result<Option<(usize, bool)>, FormatError> {
        let near = self.look(|bytes| list_start(bytes, ahead))?;
        if near.is_some() {
            return Ok(near);
        }
        self.look(|bytes| match token_within(bytes, ahead, MAX_HEADER_BYTES) {
            Look::Yes((b':', colon)) => match token_within(bytes, colon + 1, MAX_HEADER_BYTES) {
                Look::Yes((b'[', bracket)) => Look::Yes((bracket + 1, true)),
                look => look.then(|_| Look::No),
            },
            look => look.then(|_| Look::No),
        })
    }

    fn give_header(&mut self, key: Slot, value: Slot, saw_bad_value: bool) {
        self.batch.header(self.window.place(), key, value);
        if saw_bad_value {
            self.warn(BAD_VALUE, 0);
        }
    }

    /// The member cannot be read: goes on at the next key of the root. A member that the input ends in is not broken.
    fn lose_member(&mut self, stop: Stop) -> Result<(), FormatError> {
        if stop == Stop::More {
            let left = self.window.rest().len();
            self.window.consume(left);
            return Ok(());
        }
        self.warn(HEADER_BROKEN, 0);
        self.window.consume(1);
        self.is_truncated |= !self.resync_root()?;
        Ok(())
    }

    /// Passes a value that is too long to keep; `ahead` is the end of its key.
    fn skip_value(&mut self, ahead: usize) -> Result<(), FormatError> {
        self.warn(HEADER_BROKEN, 0);
        self.window.consume(ahead);
        if self.skip_space()? == Some(b':') {
            self.window.consume(1);
        }
        self.skip_space()?;
        let mut skipper = Skipper::default();
        while let Some(used) = skipper.pass(self.window.rest().as_bytes()) {
            self.window.consume(used);
            if skipper.is_done() {
                return Ok(());
            }
            if self.window.at_end() {
                break;
            }
            self.more()?;
        }
        Ok(())
    }

    /// Scans from the current place, reading on as long as the scan needs more text. The scan gives where it ended.
    fn scan<T>(&mut self, scan: impl Fn(&str) -> Scan<(T, usize)>) -> Result<Scan<(T, usize)>, FormatError> {
        loop {
            let text = self.window.rest();
            match scan(text) {
                Ok((_, end)) if end > MAX_HEADER_BYTES => return Ok(Err(Stop::Long(0))),
                Err(Stop::More) if !self.window.at_end() => {
                    if text.len() > MAX_HEADER_BYTES {
                        return Ok(Err(Stop::Long(0)));
                    }
                    self.more()?;
                }
                outcome => return Ok(outcome),
            }
        }
    }

    /// Reads what is left, so that the end of a compressed stream is checked and every byte is counted.
    fn drain(&mut self) -> Result<(), FormatError> {
        loop {
            let left = self.window.rest().len();
            self.window.consume(left);
            if self.window.at_end() {
                self.batch.progress(self.window.plain_bytes());
                return self.pass_on();
            }
            self.more()?;
        }
    }
}

/// Where a short piece of `text` from `place` on stands.
fn excerpt(text: &str, place: usize) -> Range<usize> {
    let start = text.floor_char_boundary(place);
    start..text.floor_char_boundary(start.saturating_add(EXCERPT_BYTES))
}
