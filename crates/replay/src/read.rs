//! Takes what a window needs from the tables of a store: the host spans that touch it, and of the whole recording the
//! device events and the calls that launched them.
//!
//! Only pages that can have wanted rows are read. Memory is bounded: past the limit the window has fewer steps.

mod collectives;
mod columns;
mod earlier;
mod events;
mod facts;
mod job;
mod spans;

use stepscope_model::tables::LAUNCHES;
use stepscope_model::{Note, SourceRecord};
use stepscope_store::{Catalog, StoreError};

pub use self::job::{TakenJob, read_job};
use crate::reason;
use crate::recording::Recording;
use crate::window::{WINDOW_STEPS, Window};

/// Bytes of a host span in a recording and a graph, at most: two nodes, three edges, and their lags twice.
const SPAN_BYTES: u64 = 400;
/// Bytes of a device event outside the window.
const EVENT_BYTES: u64 = 100;

/// What may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Steps of a window at most.
    pub steps: usize,
    /// The step that the window ends with, by its place; without it, that of the longest run of complete steps.
    pub last_step: Option<usize>,
    /// Bytes that a recording and its graph may take.
    pub memory_limit_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { steps: WINDOW_STEPS, last_step: None, memory_limit_bytes: 1 << 30 }
    }
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The recording.
    pub recording: Recording,
    /// Steps that the window would have had with more memory.
    pub steps_left_out: usize,
    /// Whether every device event was taken. If memory holds fewer, only those of the window are there, and typical lags
    /// come from these.
    pub has_all_events: bool,
}

impl Taken {
    /// Bytes that the recording and its graph take, about.
    #[must_use]
    pub fn model_bytes(&self) -> u64 {
        let (spans, events) = (self.recording.spans.len() as u64, self.recording.events.len() as u64);
        spans * SPAN_BYTES + events * EVENT_BYTES
    }
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table is not as it should be.
    #[error("the table {table} cannot be understood: column {column}")]
    Column {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// There is no path, for one of the reasons of [`crate::reason`].
    #[error("no critical path: {0}")]
    Null(&'static str),
}

/// Reads one recording of a rank.
pub fn read(catalog: &Catalog, source: &SourceRecord, settings: &Settings) -> Result<Taken, ReadError> {
    let is_cut = |note: &Note| note.tells_early_end() || matches!(note, Note::GzipCorrupt | Note::ProtobufBroken);
    if source.notes.iter().any(is_cut) {
        return Err(ReadError::Null(reason::FILE_TRUNCATED));
    }
    if !catalog.has_events(source.id) {
        return Err(ReadError::Null(reason::EVENTS_NOT_STORED));
    }
    // A memory snapshot has marks, and nothing that runs between them.
    if source.is_memory_snapshot() {
        return Err(ReadError::Null(reason::NO_DEVICE_EVENTS));
    }
    // Threads of TensorFlow and JAX hand work to each other in ways that are not recorded; launch calls are what ties them
    // to a device.
    if source.is_xplane() && source.rows.of(&LAUNCHES) == 0 {
        return Err(ReadError::Null(reason::LAUNCH_CALLS_NOT_RECORDED));
    }
    let tables = columns::Tables { catalog, source };
    let steps = facts::steps(&tables)?;
    let window_of = |most: usize| {
        let window = match settings.last_step {
            Some(last) => Window::ending_with(&steps, source.step_source, last, most),
            None => Window::of(&steps, source.step_source, most),
        };
        window.ok_or(ReadError::Null(reason::NO_COMPLETE_STEP))
    };
    let mut most = settings.steps;
    let whole = window_of(most)?;
    let tracks = facts::tracks(&tables)?;
    // Half of the memory is for the window.
    let event_rows: u64 = tracks.iter().filter(|track| track.is_stream).map(|track| track.spans).sum();
    let has_all_events = event_rows * EVENT_BYTES <= settings.memory_limit_bytes / 2;
    let span_limit = (settings.memory_limit_bytes / 2 / SPAN_BYTES) as usize;
    let (window, mut recording) = loop {
        let window = window_of(most)?;
        match spans::read(&tables, &tracks, &window, span_limit)? {
            Some(recording) => break (window, recording),
            None if window.steps.len() > 1 => most = window.steps.len() / 2,
            // One step is the least that can be looked at.
            None => match spans::read(&tables, &tracks, &window, usize::MAX)? {
                Some(recording) => break (window, recording),
                None => return Err(ReadError::Null(reason::NO_COMPLETE_STEP)),
            },
        }
    };
    let steps_left_out = whole.steps.len() - window.steps.len();
    recording.rank = source.id.rank;
    recording.steps = steps;
    recording.step_source = source.step_source;
    recording.window = window;
    recording.script_thread = facts::script_thread(&tables, &tracks, &recording)?;
    events::read(&tables, &tracks, has_all_events, &mut recording)?;
    earlier::read(&tables, &mut recording)?;
    Ok(Taken { recording, steps_left_out, has_all_events })
}
