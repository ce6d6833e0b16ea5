//! Threads, streams and asynchronous lanes, and the names that metadata events give them.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use stepscope_formats::{self as formats, Event, TrackKind, Value};

use super::identity::{canonical, integer, trailing_integer};
use super::lanes::Lanes;
use super::record::TrackId;
use crate::spill::strings::{Strings, TextId};

/// What a track is, as the trace tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TrackKey {
    /// A thread or a stream: `pid` and `tid`.
    Thread { process: Option<TextId>, thread: Option<TextId> },
    /// An asynchronous lane: category and id.
    Async { category: Option<TextId>, id: Option<TextId> },
    /// One that the reader told of, by number.
    Told { number: u32 },
}

/// A track and what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub key: TrackKey,
    /// Device and stream that its ids stand for, should it turn out to hold device work.
    pub device_id: Option<i64>,
    pub stream_id: Option<i64>,
    /// What the reader told of it, if it did.
    pub told: Option<ToldTrack>,
    pub has_device_work: bool,
    /// Operators, calls of the runtime and Python functions on it.
    pub host_spans: u64,
    /// End of its last span, as recorded.
    pub last_end: Option<i64>,
    pub spans: u64,
    pub lanes: Lanes,
    pub first: Option<i64>,
    pub last: Option<i64>,
}

impl Track {
    /// Takes note that a span of it ends, or begins, at `time`.
    #[inline]
    pub(crate) fn reaches(&mut self, time: i64) {
        self.last_end = Some(self.last_end.map_or(time, |last| last.max(time)));
    }

    /// Widens the time the track covers.
    pub(crate) fn cover(&mut self, start: i64, end: i64) {
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
    }
}

/// What a reader told of a track.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldTrack {
    pub kind: TrackKind,
    pub process: TextId,
    pub thread: TextId,
    process_caption: Caption,
    thread_caption: Caption,
    /// Device work on it nests.
    pub device_work_nests: bool,
    keeps_order: bool,
}

impl ToldTrack {
    pub(crate) fn process_name(&self) -> Option<TextId> {
        self.process_caption.name
    }

    pub(crate) fn thread_name(&self) -> Option<TextId> {
        self.thread_caption.name
    }
}

/// Names that metadata events give to a process or a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caption {
    pub name: Option<TextId>,
    pub labels: Option<TextId>,
    pub sort_index: Option<i64>,
}

/// How many threads are remembered.
const RECENT_THREADS: usize = 8;

/// A thread as its ids stand in the trace.
#[derive(Debug)]
struct Recent {
    process: String,
    thread: String,
    track: TrackId,
}

/// The tracks of one source, numbered in the order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    ids: HashMap<TrackKey, TrackId>,
    pub list: Vec<Track>,
    /// The last few threads, the last one first: most events are on the thread of the event before.
    recent: Vec<Recent>,
    processes: HashMap<Option<TextId>, Caption>,
    threads: HashMap<TrackKey, Caption>,
}

impl Tracks {
    /// Takes what a reader tells of a track; telling it again replaces what was told.
    pub(crate) fn tell(&mut self, track: &formats::Track<'_>, strings: &mut Strings) {
        let id = self.get_or_add(TrackKey::Told { number: track.number }, track.device_id, track.stream_id);
        let mut text = |text: Option<&str>| text.map(|text| strings.intern(text));
        let (process_name, labels, thread_name) =
            (text(track.process_name), text(track.process_labels), text(track.thread_name));
        self.list[id as usize].told = Some(ToldTrack {
            kind: track.kind,
            process: strings.intern(track.process),
            thread: strings.intern(track.thread),
            process_caption: Caption { name: process_name, labels, ..Caption::default() },
            thread_caption: Caption { name: thread_name, ..Caption::default() },
            device_work_nests: track.device_work_nests,
            keeps_order: track.keeps_order,
        });
    }

    /// The track of an event: the one that the reader told of, else the thread or the stream.
    pub(crate) fn of_event(&mut self, event: &Event<'_>, strings: &mut Strings) -> TrackId {
        match event.track {
            Some(number) => self.told(number),
            None => self.thread(event, strings),
        }
    }

    /// The track with the number that the reader gave it.
    pub(crate) fn told(&mut self, number: u32) -> TrackId {
        self.get_or_add(TrackKey::Told { number }, None, None)
    }

    /// The track of an event on a thread or a stream.
    pub(crate) fn thread(&mut self, event: &Event<'_>, strings: &mut Strings) -> TrackId {
        let (process, thread) = (raw(&event.process), raw(&event.thread));
        let is_known = |known: &Recent| known.process == process && known.thread == thread;
        if let Some(index) = self.recent.iter().position(is_known) {
            self.recent.swap(0, index);
            return self.recent[0].track;
        }
        let (key, device_id, stream_id) = thread_key(event, strings);
        let track = self.get_or_add(key, device_id, stream_id);
        self.recent.truncate(RECENT_THREADS - 1);
        self.recent.insert(0, Recent { process: process.to_owned(), thread: thread.to_owned(), track });
        track
    }

    /// The track of an asynchronous event.
    pub(crate) fn lane(&mut self, category: Option<TextId>, id: Option<TextId>) -> TrackId {
        self.get_or_add(TrackKey::Async { category, id }, None, None)
    }

    /// Takes a name or an order from a metadata event.
    pub(crate) fn name(&mut self, event: &Event<'_>, strings: &mut Strings) {
        let (key, ..) = thread_key(event, strings);
        let TrackKey::Thread { process, .. } = key else { return };
        let text = |argument: &str, strings: &mut Strings| {
            event.args.last(argument).and_then(|value| value.as_text().map(|text| strings.intern(text)))
        };
        let sort_index = || event.args.last("sort_index").and_then(|value| value.as_i64());
        match event.name.as_text() {
            Some("process_name") => self.processes.entry(process).or_default().name = text("name", strings),
            Some("process_labels") => self.processes.entry(process).or_default().labels = text("labels", strings),
            Some("process_sort_index") => self.processes.entry(process).or_default().sort_index = sort_index(),
            Some("thread_name") => self.threads.entry(key).or_default().name = text("name", strings),
            Some("thread_sort_index") => self.threads.entry(key).or_default().sort_index = sort_index(),
            _ => {}
        }
    }

    /// Whether changes of memory on a track are in the order of the file.
    pub(crate) fn keeps_order(&self, track: TrackId) -> bool {
        self.list[track as usize].told.is_some_and(|told| told.keeps_order)
    }

    /// Whether device work on a track nests.
    #[inline]
    pub(crate) fn work_nests(&self, track: TrackId) -> bool {
        self.list[track as usize].told.is_some_and(|told| told.device_work_nests)
    }

    /// The process that ran most of the host side, as the system numbers it.
    pub(crate) fn host_process(&self) -> Option<i64> {
        let mut spans: BTreeMap<i64, u64> = BTreeMap::new();
        for track in self.list.iter().filter(|track| track.host_spans > 0 && track.told.is_none()) {
            // What would be the device of a stream is the process of a thread.
            *spans.entry(track.device_id?).or_default() += track.host_spans;
        }
        spans
            .into_iter()
            .max_by_key(|&(process, spans)| (spans, std::cmp::Reverse(process)))
            .map(|(process, _)| process)
    }

    /// Names of the process a track belongs to.
    pub(crate) fn process_labels(&self, track: &Track) -> Caption {
        if let Some(told) = track.told {
            return told.process_caption;
        }
        let TrackKey::Thread { process, .. } = track.key else { return Caption::default() };
        self.processes.get(&process).copied().unwrap_or_default()
    }

    /// Names of the thread that a track is.
    pub(crate) fn thread_labels(&self, track: &Track) -> Caption {
        track.told.map(|told| told.thread_caption).or_else(|| self.threads.get(&track.key).copied()).unwrap_or_default()
    }

    fn get_or_add(&mut self, key: TrackKey, device_id: Option<i64>, stream_id: Option<i64>) -> TrackId {
        *self.ids.entry(key).or_insert_with(|| {
            self.list.push(Track {
                key,
                device_id,
                stream_id,
                told: None,
                has_device_work: false,
                host_spans: 0,
                last_end: None,
                spans: 0,
                lanes: Lanes::default(),
                first: None,
                last: None,
            });
            (self.list.len() - 1) as TrackId
        })
    }
}

/// An id as it stands in the trace. Ids that look alike are one (a decimal string is the integer); a missing one is not
/// an empty text, so it is spelled as none can be.
fn raw<'a>(id: &'a Value<'_>) -> &'a str {
    match id {
        Value::Missing | Value::Null => "\0",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(text) => text,
        Value::Text(text) | Value::Json(text) => text,
    }
}

fn thread_key(event: &Event<'_>, strings: &mut Strings) -> (TrackKey, Option<i64>, Option<i64>) {
    let process = canonical(&event.process);
    let thread = canonical(&event.thread);
    let device_id = process.as_deref().and_then(integer);
    let stream_id = thread.as_deref().and_then(trailing_integer);
    let process = process.map(|id| strings.intern(&id));
    let thread = thread.map(|id| strings.intern(&id));
    (TrackKey::Thread { process, thread }, device_id, stream_id)
}
