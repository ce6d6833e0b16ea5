//! Reads and writes Chrome traces (`*.json`, `*.pt.trace.json[.gz]`), the format of PyTorch's Kineto and of Chrome
//! itself.
//!
//! The file streams through a window of a few blocks: an event at a time goes from its text to typed fields, without a
//! tree. Profilers are killed while they write, and some write invalid JSON; what is whole is kept, and every element
//! of the list of events is accounted for.

mod batch;
mod document;
mod eight_bytes;
mod elements;
mod keys;
mod microseconds;
mod record;
mod resync;
mod scan;
mod scan_ahead;
mod shapes;
mod skip;
mod slot;
mod text;
mod usual;
mod window;
mod word;
mod writer;

use std::io::Read;

use memchr::{memchr, memmem};
use stepscope_model::{Content, Note};

use self::batch::Direct;
use self::document::Document;
use self::resync::{EVENTS_KEY, Look, event_start, holds_list, next_token, token_within};
use self::scan_ahead::scan_ahead;
use self::slot::PLACE_BITS;
use self::window::{BLOCK_BYTES, Window};
pub use self::writer::{ChromeEvent, ChromeWriter, JsonValue};
use crate::error::FormatError;
use crate::registry::{Confidence, Format, HEAD_BYTES, Limits};
use crate::sink::TraceSink;

/// No limit on events is above this, so that places fit into slots. Twice as much and a block may be in memory.
const MAX_EVENT_BYTES: usize = 1 << (PLACE_BITS - 2);

/// The Trace Event Format, as an object with `traceEvents` or as a bare list.
pub(crate) struct ChromeTrace;

impl Format for ChromeTrace {
    fn name(&self) -> &'static str {
        "chrome_trace"
    }

    fn yields(&self) -> Content {
        Content::Events
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let head = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head);
        let (first, at) = match token_within(head, 0, head.len()) {
            Look::Yes(token) => token,
            // Nothing but spaces, in as much as there is to see.
            _ if head.len() >= HEAD_BYTES => return Confidence::Possible,
            _ => return Confidence::No,
        };
        match first {
            b'{' if memmem::find(head, EVENTS_KEY).is_some() => Confidence::Certain,
            b'{' => sniff_object(head, at),
            b'[' => sniff_list(head, at),
            _ if holds_list(head) || begins_event(head, at + 1) => Confidence::Possible,
            _ => Confidence::No,
        }
    }

    fn read(
        &self,
        input: &mut (dyn Read + Send),
        limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError> {
        read_in_blocks(input, BLOCK_BYTES, limits, sink)
    }
}

fn read_in_blocks(
    input: &mut (dyn Read + Send),
    block_bytes: usize,
    limits: &Limits,
    sink: &mut dyn TraceSink,
) -> Result<Vec<Note>, FormatError> {
    let limits = Limits { max_event_bytes: limits.max_event_bytes.min(MAX_EVENT_BYTES), ..*limits };
    let mut window = Window::new(input, block_bytes);
    window.more()?;
    // Threads would take longer to start than a small trace takes to read.
    if window.at_end() {
        return Document::new(window, &limits, &mut Direct(sink)).read();
    }
    scan_ahead(sink, |outlet| Document::new(window, &limits, outlet).read())
}

/// An object without `traceEvents` in its head may have it further on, behind a long header.
fn sniff_object(head: &[u8], at: usize) -> Confidence {
    match token_within(head, at + 1, head.len()) {
        Look::Yes((b'"' | b'}', _)) | Look::More => Confidence::Possible,
        Look::Yes(_) if begins_event(head, at + 1) => Confidence::Possible,
        Look::Yes(_) | Look::No => Confidence::No,
    }
}

/// A bare list of events may be empty or cut; a list of anything else is none.
fn sniff_list(head: &[u8], at: usize) -> Confidence {
    let first = token_within(head, at + 1, head.len());
    match first.then(|(_, brace)| event_start(head, brace)) {
        Look::Yes(()) => Confidence::Certain,
        Look::More => Confidence::Possible,
        Look::No if matches!(first, Look::Yes((b']', _))) => Confidence::Possible,
        // The first event may be the broken one.
        Look::No if memmem::find(head, b"\"ph\"").is_some() => Confidence::Possible,
        // Or it comes later: nothing that is an object ended so far. The reader refuses a list without any.
        Look::No if is_value(first) && memchr(b'}', head).is_none() => Confidence::Possible,
        Look::No => Confidence::No,
    }
}

fn is_value(token: Look<(u8, usize)>) -> bool {
    matches!(token, Look::Yes((b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n', _)))
}

fn begins_event(head: &[u8], at: usize) -> bool {
    next_token(head, at).then(|(_, brace)| event_start(head, brace)) == Look::Yes(())
}

#[cfg(test)]
mod tests;
