//! The list of formats, and the way from bytes to the reader that knows them.

use std::io::{self, BufRead, Read};

use stepscope_model::{Content, Note};

use crate::chrome::ChromeTrace;
use crate::cprofile::CProfile;
use crate::error::FormatError;
use crate::inflate::Inflate;
use crate::looks_like::LooksLike;
use crate::read_ahead::read_ahead;
use crate::segments::Segments;
use crate::sink::TraceSink;
use crate::snapshot::MemorySnapshot;
use crate::xplane::XPlane;

/// A format that Stepscope reads.
pub trait Format: Sync {
    /// Name in tables and JSON.
    fn name(&self) -> &'static str;

    /// What a trace of it is made of: which calls of the sink its reader makes.
    fn yields(&self) -> Content;

    /// How sure it is that a trace that begins with `head` (inflated) is its own.
    fn sniff(&self, head: &[u8]) -> Confidence;

    /// Reads the whole trace, to the last byte of `input`, which gives plain bytes. Gives the notes.
    fn read(
        &self,
        input: &mut (dyn Read + Send),
        limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError>;
}

/// How sure a format is that an input is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is not.
    No,
    /// Nothing speaks against it.
    Possible,
    /// A mark of the format was seen.
    Certain,
}

/// What a reader refuses, so that no input takes all memory or time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nesting of arrays and objects in one event.
    pub max_depth: usize,
    /// Bytes of one event.
    pub max_event_bytes: usize,
    /// Bytes of one string.
    pub max_string_bytes: usize,
    /// Plain bytes a compressed byte may become, past `gzip_free_bytes`.
    pub max_gzip_ratio: u64,
    /// Plain bytes below which the ratio is not looked at.
    pub gzip_free_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 128,
            max_event_bytes: 64 << 20,
            max_string_bytes: 16 << 20,
            max_gzip_ratio: 1000,
            gzip_free_bytes: 64 << 20,
        }
    }
}

/// What is known of an input once it has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSummary {
    /// Format that read it.
    pub format: &'static str,
    /// What it is made of.
    pub content: Content,
    /// Plain bytes.
    pub bytes_plain: u64,
    /// What is to be told about the container, then about the document.
    pub notes: Vec<Note>,
}

/// Every format.
pub static FORMATS: &[&dyn Format] = &[&ChromeTrace, &Segments, &CProfile, &XPlane, &MemorySnapshot];

/// Plain bytes that formats get to recognize a trace.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Inflates `input` if it is compressed, finds its format by content and reads it.
pub fn read_trace(
    input: impl BufRead + Send,
    limits: &Limits,
    sink: &mut dyn TraceSink,
) -> Result<ReadSummary, FormatError> {
    let mut inflate = Inflate::new(input, limits);
    let mut head = Vec::new();
    inflate.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let format = recognize(&head)?;
    let mut read = |rest: &mut (dyn Read + Send)| format.read(&mut head.as_slice().chain(rest), limits, sink);
    let is_whole = head.len() < HEAD_BYTES;
    let outcome = if is_whole { read(&mut io::empty()) } else { read_ahead(&mut inflate, read) };
    let format_notes = outcome.map_err(|error| match error {
        FormatError::NoEvents { looks_like: None } => FormatError::NoEvents { looks_like: known_kind(&head) },
        error => error,
    })?;
    let notes = inflate.note().into_iter().chain(format_notes).collect();
    let (format, content) = (format.name(), format.yields());
    Ok(ReadSummary { format, content, bytes_plain: inflate.plain_bytes(), notes })
}

/// The format that is surest of `head`; the first one of several.
fn recognize(head: &[u8]) -> Result<&'static dyn Format, FormatError> {
    // The files in an archive would be taken for one broken trace.
    if head.iter().take(257).any(|byte| *byte == 0) && LooksLike::of(head) == LooksLike::Tar {
        return Err(FormatError::Unrecognized(LooksLike::Tar));
    }
    let mut best: Option<(&'static dyn Format, Confidence)> = None;
    for &format in FORMATS {
        let confidence = format.sniff(head);
        if confidence > best.map_or(Confidence::No, |best| best.1) {
            best = Some((format, confidence));
        }
    }
    match best {
        Some((format, _)) => Ok(format),
        None if head.trim_ascii().is_empty() => Err(FormatError::Empty),
        None => Err(FormatError::Unrecognized(LooksLike::of(head))),
    }
}

/// What JSON without events is, when it is something with a name.
fn known_kind(head: &[u8]) -> Option<LooksLike> {
    Some(LooksLike::of(head)).filter(|&it| !matches!(it, LooksLike::Json | LooksLike::JsonList))
}
