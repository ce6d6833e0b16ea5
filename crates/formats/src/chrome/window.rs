//! The piece of a document that is in memory: text that is refilled block by block and reused.
//!
//! Text, not bytes: invalid UTF-8 is replaced here, once, so that everything behind works on `str` without copies.

use std::io::{self, Read};

use memchr::memmem;

/// Bytes asked for at once.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// Bytes before the current place that stay in memory, so that a search can look back.
const CONTEXT_BYTES: usize = 64;

/// A sliding piece of the input.
pub(super) struct Window<'r> {
    input: &'r mut dyn Read,
    /// What one call of `more` reads at least, unless the input ends.
    block_bytes: usize,
    text: String,
    /// The current place in `text`; always at the start of a character.
    pos: usize,
    block: Vec<u8>,
    /// Bytes of `block` that are the beginning of a character whose rest is not read yet.
    carried: usize,
    /// Places in `text` and the plain bytes they stand for, one for each block. They differ by what replacements added.
    anchors: Vec<(usize, u64)>,
    plain_bytes: u64,
    at_end: bool,
    holds_replacement: bool,
}

impl<'r> Window<'r> {
    /// A window at the start of `input`; nothing is read yet.
    pub(super) fn new(input: &'r mut dyn Read, block_bytes: usize) -> Self {
        Self {
            input,
            block_bytes: block_bytes.max(1),
            text: String::new(),
            pos: 0,
            block: Vec::new(),
            carried: 0,
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

    /// Where in the plain bytes the text `ahead` of the current place stands. Exact up to the first invalid byte of a
    /// block; after it, off by at most what the replacements of that block added.
    pub(super) fn offset_bytes(&self, ahead: usize) -> u64 {
        let place = self.pos + ahead;
        let anchor = self.anchors.iter().rev().find(|anchor| anchor.0 <= place);
        let &(start, plain) = anchor.unwrap_or(&(0, 0));
        (plain + (place - start) as u64).min(self.plain_bytes)
    }

    /// Reads on. At least as much again as is in memory, so that looking at a long text anew after each call takes
    /// time by its length.
    pub(super) fn more(&mut self) -> io::Result<()> {
        self.forget();
        let mut wanted = self.block_bytes.max(self.text.len() - self.pos);
        while wanted > 0 && !self.at_end {
            let count = self.read_block(wanted.min(self.block_bytes.max(BLOCK_BYTES)))?;
            wanted = wanted.saturating_sub(count);
        }
        Ok(())
    }

    /// Drops the text before the current place, but for a little context.
    fn forget(&mut self) {
        let cut = self.text.floor_char_boundary(self.pos.saturating_sub(CONTEXT_BYTES));
        if cut == 0 {
            return;
        }
        self.text.drain(..cut);
        self.pos -= cut;
        let first_kept = self.anchors.iter().rposition(|anchor| anchor.0 <= cut).unwrap_or(0);
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

    /// Reads `wanted` bytes, or to the end, and takes them over as text.
    fn read_block(&mut self, wanted: usize) -> io::Result<usize> {
        let carried = self.carried;
        self.block.resize((carried + wanted).max(self.block.len()), 0);
        let mut filled = carried;
        while filled < carried + wanted {
            match self.input.read(&mut self.block[filled..carried + wanted]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.anchors.push((self.text.len(), self.plain_bytes - carried as u64));
        self.plain_bytes += (filled - carried) as u64;
        self.take_text(filled);
        Ok(filled - carried)
    }

    /// Takes over the first `filled` bytes of the block; a character that is not whole yet stays for the next one.
    fn take_text(&mut self, filled: usize) {
        let mut start = 0;
        self.carried = 0;
        while start < filled {
            let bytes = &self.block[start..filled];
            let (valid, bad) = match std::str::from_utf8(bytes) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
                }
            };
            if !self.holds_replacement && memmem::find(valid.as_bytes(), "\u{FFFD}".as_bytes()).is_some() {
                self.holds_replacement = true;
            }
            self.text.push_str(valid);
            start += valid.len();
            match bad {
                None => {}
                Some(None) if !self.at_end => {
                    self.carried = filled - start;
                    self.block.copy_within(start..filled, 0);
                    return;
                }
                Some(length) => {
                    self.text.push('\u{FFFD}');
                    self.holds_replacement = true;
                    start += length.unwrap_or(filled - start);
                }
            }
        }
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
