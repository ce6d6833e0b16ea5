//! The piece of a document that is in memory: text that is refilled block by block and reused.
//!
//! Text, not bytes: invalid UTF-8 is replaced here, once, so that everything behind works on `str` without copies.

use std::io::{self, Read};

use memchr::{memchr, memmem};

/// Bytes asked for at once.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// Bytes before the current place that stay in memory, so that a search can look back.
pub(super) const CONTEXT_BYTES: usize = 64;

/// Text with replacements gets an anchor at least so often.
const ANCHOR_BYTES: usize = 4096;

/// A sliding piece of the input.
pub(super) struct Window<'r> {
    input: &'r mut (dyn Read + Send),
    /// What one call of `more` reads at least, unless the input ends.
    block_bytes: usize,
    text: String,
    /// The current place in `text`; always at the start of a character.
    pos: usize,
    /// The beginning of a character whose rest is not read yet.
    carried: Vec<u8>,
    /// Places in `text` and the plain bytes they stand for, in order. They differ by what replacements added.
    anchors: Vec<(usize, u64)>,
    plain_bytes: u64,
    at_end: bool,
    holds_replacement: bool,
}

impl<'r> Window<'r> {
    /// A window at the start of `input`; nothing is read yet.
    pub(super) fn new(input: &'r mut (dyn Read + Send), block_bytes: usize) -> Self {
        Self {
            input,
            block_bytes: block_bytes.max(1),
            text: String::new(),
            pos: 0,
            carried: Vec::new(),
            anchors: Vec::new(),
            plain_bytes: 0,
            at_end: false,
            holds_replacement: false,
        }
    }

    /// Text from the current place to the end of what is in memory.
    pub(super) fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    /// All text in memory; `place` is the current place in it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The current place in `text`.
    pub(super) fn place(&self) -> usize {
        self.pos
    }

    /// Goes on by `count` bytes of text, or a little more when that is in the middle of a character.
    pub(super) fn consume(&mut self, count: usize) {
        self.pos = self.text.ceil_char_boundary(self.pos.saturating_add(count));
    }

    /// Whether everything is in memory that there is.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Plain bytes read so far.
    pub(super) fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Whether U+FFFD was in the input, or invalid bytes that became it.
    pub(super) fn holds_replacement(&self) -> bool {
        self.holds_replacement
    }

    /// Where in the plain bytes the text `ahead` of the current place stands. Exact where all bytes are valid; else off
    /// by at most what a few replacements added, and never before what stands before it.
    pub(super) fn offset_bytes(&self, ahead: usize) -> u64 {
        let place = self.pos + ahead;
        let next = self.anchors.partition_point(|anchor| anchor.0 <= place);
        let &(start, plain) = next.checked_sub(1).and_then(|last| self.anchors.get(last)).unwrap_or(&(0, 0));
        let most = self.anchors.get(next).map_or(self.plain_bytes, |anchor| anchor.1);
        (plain + (place - start) as u64).min(most)
    }

    /// Reads on. At least as much again as is in memory, so that looking at a long text anew after each call takes
    /// time by its length.
    pub(super) fn more(&mut self) -> io::Result<()> {
        let cut = self.context_start();
        if cut > 0 {
            self.text.drain(..cut);
            self.forget(cut);
        }
        let wanted = self.block_bytes.max(self.text.len() - self.pos);
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let new = bytes.len();
        let new_plain = self.plain_bytes - self.carried.len() as u64;
        bytes.append(&mut self.carried);
        let outcome = self.read_bytes(wanted, &mut bytes);
        self.take_text(bytes, new, new_plain);
        outcome
    }

    /// Moves the text into `room`. The buffer that was there takes over what is not consumed yet.
    pub(super) fn hand_over(&mut self, room: &mut String) {
        let cut = self.context_start();
        room.clear();
        room.push_str(&self.text[cut..]);
        std::mem::swap(&mut self.text, room);
        self.forget(cut);
    }

    /// Where the text begins that is still needed: what is not consumed yet, and a little context.
    fn context_start(&self) -> usize {
        self.text.floor_char_boundary(self.pos.saturating_sub(CONTEXT_BYTES))
    }

    /// The first `cut` bytes of text are gone.
    fn forget(&mut self, cut: usize) {
        self.pos -= cut;
        let first_kept = self.anchors.partition_point(|anchor| anchor.0 <= cut).saturating_sub(1);
        self.anchors.drain(..first_kept);
        for anchor in &mut self.anchors {
            if anchor.0 < cut {
                anchor.1 += (cut - anchor.0) as u64;
                anchor.0 = 0;
            } else {
                anchor.0 -= cut;
            }
        }
    }

    /// Appends `wanted` bytes of the input, or what is left of it. Room is made block by block.
    fn read_bytes(&mut self, wanted: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let wanted_end = bytes.len() + wanted;
        let mut end = bytes.len();
        while end < wanted_end && !self.at_end {
            if end == bytes.len() {
                bytes.resize(wanted_end.min(end + self.block_bytes.max(BLOCK_BYTES)), 0);
            }
            match self.input.read(&mut bytes[end..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => {
                    end += count;
                    self.plain_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    bytes.truncate(end);
                    return Err(error);
                }
            }
        }
        bytes.truncate(end);
        Ok(())
    }

    /// Takes over `bytes`, which are text up to `new`; a character that is not whole yet stays for the next time.
    fn take_text(&mut self, mut bytes: Vec<u8>, new: usize, new_plain: u64) {
        self.anchors.push((new, new_plain));
        if !self.at_end {
            self.carried = bytes.split_off(bytes.len() - unfinished_bytes(&bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                self.holds_replacement |= holds_replacement(&text.as_bytes()[new..]);
                self.text = text;
            }
            Err(error) => self.take_invalid(error.as_bytes(), new, new_plain),
        }
    }

    /// The same for bytes that are no text everywhere.
    fn take_invalid(&mut self, bytes: &[u8], new: usize, new_plain: u64) {
        self.holds_replacement = true;
        let mut seen = 0;
        let mut last_anchor = new;
        for chunk in bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            seen += chunk.valid().len() + chunk.invalid().len();
            if chunk.invalid().is_empty() {
                continue;
            }
            self.text.push('\u{FFFD}');
            if self.text.len() >= last_anchor + ANCHOR_BYTES {
                last_anchor = self.text.len();
                self.anchors.push((last_anchor, new_plain + (seen - new) as u64));
            }
        }
    }
}

/// Whether U+FFFD is in `text`. Looking for its first byte alone is faster, and few texts have that.
fn holds_replacement(text: &[u8]) -> bool {
    memchr(0xef, text).is_some_and(|at| memmem::find(&text[at..], "\u{FFFD}".as_bytes()).is_some())
}

/// How many bytes at the end are the beginning of a character.
fn unfinished_bytes(bytes: &[u8]) -> usize {
    let near = &bytes[bytes.len().saturating_sub(3)..];
    let Some(start) = near.iter().rposition(|&byte| byte & 0xc0 != 0x80) else { return 0 };
    match std::str::from_utf8(&near[start..]) {
        Err(error) if error.error_len().is_none() => near.len() - start,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    /// Reads everything in blocks of `block_bytes`, keeping all text.
    fn read(mut bytes: &[u8], block_bytes: usize) -> (String, bool, u64) {
        let mut window = Window::new(&mut bytes, block_bytes);
        while !window.at_end() {
            window.more().unwrap_or_default();
        }
        (window.rest().to_owned(), window.holds_replacement(), window.plain_bytes())
    }

    #[test]
    fn characters_across_blocks_stay_whole() {
        let text = "aé€😀b";
        for block_bytes in 1..9 {
            assert_eq!(read(text.as_bytes(), block_bytes), (text.to_owned(), false, 11), "{block_bytes}");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        for block_bytes in 1..9 {
            assert_eq!(read(b"a\xffb\xe2\x82", block_bytes), ("a\u{FFFD}b\u{FFFD}".to_owned(), true, 5));
            assert!(read("\u{FFFD}".as_bytes(), block_bytes).1);
        }
    }

    #[test]
    fn offsets_stay_near_behind_invalid_bytes() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| if i % 10 == 3 { 0xff } else { b'a' + (i % 10) as u8 }).collect();
        let mut input = &bytes[..];
        let mut window = Window::new(&mut input, 60_000);
        let mut before = 0;
        loop {
            while window.rest().len() < 12 && !window.at_end() {
                window.more().unwrap_or_default();
            }
            let Some(ahead) = window.rest().find('a') else { break };
            window.consume(ahead);
            let offset = window.offset_bytes(0);
            assert!(before <= offset, "{offset} after {before}");
            window.consume(1);
            before = offset;
        }
        assert!(before.abs_diff(99_990) < 1000, "{before}");
    }

    #[test]
    fn offsets_survive_refills() {
        let bytes: Vec<u8> = (0..1000_u32).map(|i| b'a' + (i % 26) as u8).collect();
        let mut input = &bytes[..];
        let mut window = Window::new(&mut input, 7);
        let mut seen = 0_u64;
        loop {
            while window.rest().len() < 5 && !window.at_end() {
                window.more().unwrap_or_default();
            }
            let Some(byte) = window.rest().bytes().next() else { break };
            assert_eq!(window.offset_bytes(0), seen);
            assert_eq!(byte, bytes[seen as usize]);
            let step = window.rest().len().min(3);
            window.consume(step);
            seen += step as u64;
        }
        assert_eq!(seen, 1000);
    }
}
