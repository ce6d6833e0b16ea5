//! Reads XPlane protobufs, as TensorFlow's and JAX's profilers write them, on CPU, GPU and TPU.
//!
//! A file is a list of planes: the threads of a host, a device. A plane is a list of lines with events, and behind them two
//! maps with the names of what the events refer to. So a plane is read to its end before its events are told.

mod arguments;
mod deliver;
mod details;
mod devices;
mod kinds;
mod metadata;
mod names;
mod plane;
mod tracks;
mod wire;

use std::io::Read;

use memchr::memmem;
use stepscope_model::warning::{BROKEN_FIELD, EVENT_TOO_LONG, PROFILER_MESSAGE, WarningCode};
use stepscope_model::{Content, Note};

use self::deliver::Delivery;
use self::devices::Devices;
use self::kinds::PlaneRole;
use self::metadata::{Faults, Metadata, StatValue};
use self::plane::{Plane, field_end};
use self::wire::{Broken, Fields, Item, Stream, Wire};
use crate::error::FormatError;
use crate::event::{Event, Value};
use crate::memory::MemoryChange;
use crate::registry::{Confidence, Format, Limits};
use crate::sink::{TraceSink, Warning};
use crate::track::Program;

/// Protobufs of TensorFlow's and JAX's profilers.
pub(crate) struct XPlane;

/// What the name of a plane begins with.
const PLANE_NAMES: [&[u8]; 4] = [b"/host:", b"/device:", b"Task Environment", b"#Chip"];

/// Plain bytes that tell a file which was converted as if it were text.
const CONVERSION_BYTES: usize = 4096;

/// Replacement characters that no real file has so early.
const CONVERSION_MARKS: usize = 16;

/// Planes that the header lists.
const MOST_PLANES: usize = 256;

/// Bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

impl Format for XPlane {
    fn name(&self) -> &'static str {
        "xplane"
    }

    fn yields(&self) -> Content {
        Content::Events
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        if first_plane_has_a_name(head) {
            Confidence::Certain
        } else if was_converted(head) {
            Confidence::Possible
        } else {
            Confidence::No
        }
    }

    fn read(
        &self,
        input: &mut (dyn Read + Send),
        limits: &Limits,
        sink: &mut dyn TraceSink,
    ) -> Result<Vec<Note>, FormatError> {
        let mut stream = Stream::new(input);
        if was_converted(stream.bytes(CONVERSION_BYTES)?) {
            return Err(FormatError::Refused {
                reason: "an XPlane protobuf that was damaged by a text conversion: its bytes were replaced as if it \
                         were text"
                    .to_owned(),
                hint: "copy the file again as binary",
            });
        }
        Reader::new(limits, sink).space(&mut stream)
    }
}

/// Whether the first field of a file is a plane with a name that planes have.
fn first_plane_has_a_name(head: &[u8]) -> bool {
    let Some(plane) = head.strip_prefix(&[0x0a]) else { return false };
    let Ok((length, prefix)) = wire::varint(plane) else { return false };
    let plane = &plane[prefix..];
    let mut fields = Fields(&plane[..plane.len().min(usize::try_from(length).unwrap_or(usize::MAX))]);
    loop {
        match fields.next() {
            Ok(Some((2, Item::Bytes(name)))) if PLANE_NAMES.iter().any(|start| name.starts_with(start)) => return true,
            // A name that is a number is left out, as everything of a wrong kind is.
            Ok(Some((1, Item::Varint(_)) | (2..=6, _))) => {}
            Ok(Some(_) | None) | Err(_) => return false,
        }
    }
}

/// Whether an XPlane file was read as text somewhere on its way, which replaces every byte above 0x7f.
fn was_converted(head: &[u8]) -> bool {
    let head = &head[..head.len().min(CONVERSION_BYTES)];
    let is_text = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_text
        && head.starts_with(&[0x0a])
        && PLANE_NAMES.iter().any(|name| memmem::find(head, name).is_some())
        && memmem::find_iter(head, "\u{FFFD}".as_bytes()).count() >= CONVERSION_MARKS
}

/// Tells the sink, and keeps the numbers of events and losses.
struct Teller<'s> {
    sink: &'s mut dyn TraceSink,
    limits: Limits,
    position: u64,
    has_invalid_utf8: bool,
    next_progress: u64,
}

impl Teller<'_> {
    fn tell(&mut self, event: Event<'_>) {
        self.sink.event(&Event { position: self.position, ..event });
        self.position += 1;
    }

    fn tell_memory(&mut self, mut change: MemoryChange<'_>) {
        change.position = self.position;
        self.sink.memory_change(&change);
        self.position += 1;
    }

    fn lose(&mut self, code: WarningCode, offset_bytes: u64, detail: &str) {
        let position = Some(self.position);
        self.sink.warning(&Warning { code, position, offset_bytes, detail: detail.into() });
        self.position += 1;
    }

    fn warn(&mut self, code: WarningCode, offset_bytes: u64, detail: &str) {
        self.sink.warning(&Warning { code, position: None, offset_bytes, detail: detail.into() });
    }

    fn faults(&mut self, faults: Faults, offset_bytes: u64) {
        self.has_invalid_utf8 |= faults.invalid_utf8;
        for _ in 0..faults.long_texts {
            self.lose(EVENT_TOO_LONG, offset_bytes, "");
        }
        for _ in 0..faults.broken_fields {
            self.warn(BROKEN_FIELD, offset_bytes, "");
        }
    }

    /// Reports how far it is.
    fn progress(&mut self, offset_bytes: u64) -> Result<(), FormatError> {
        if offset_bytes < self.next_progress {
            return Ok(());
        }
        self.next_progress = offset_bytes + PROGRESS_BYTES;
        if self.sink.progress(offset_bytes) { Ok(()) } else { Err(FormatError::Stopped) }
    }
}

/// What is known of a file so far.
struct Reader<'s> {
    teller: Teller<'s>,
    delivery: Delivery,
    devices: Devices,
    profile_start_ns: Option<i64>,
    profile_stop_ns: Option<i64>,
    planes: Vec<String>,
    host: Option<String>,
    notes: Vec<Note>,
}

impl<'s> Reader<'s> {
    fn new(limits: &Limits, sink: &'s mut dyn TraceSink) -> Self {
        Self {
            teller: Teller { sink, limits: *limits, position: 0, has_invalid_utf8: false, next_progress: 0 },
            delivery: Delivery::new(),
            devices: Devices::default(),
            profile_start_ns: None,
            profile_stop_ns: None,
            planes: Vec::new(),
            host: None,
            notes: Vec::new(),
        }
    }

    /// Reads the whole file.
    fn space(mut self, stream: &mut Stream<'_>) -> Result<Vec<Note>, FormatError> {
        let mut plane = Plane::default();
        loop {
            let field = match stream.field(u64::MAX)? {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(broken) => {
                    self.notes.push(if broken == Broken::Cut { Note::ProtobufTruncated } else { Note::ProtobufBroken });
                    break;
                }
            };
            let end = field_end(stream, field);
            match (field.key.number, field.key.wire) {
                (1, Wire::Bytes) => {
                    plane.clear();
                    plane.read(stream, end, &mut self.teller)?;
                    self.plane(&mut plane)?;
                }
                (2..=4, Wire::Bytes) => self.words(stream, field.key.number, field.value)?,
                _ => {}
            }
            if field.key.wire == Wire::Bytes && !stream.skip_to(end)? {
                self.notes.push(Note::ProtobufTruncated);
                break;
            }
            self.teller.progress(stream.offset_bytes)?;
        }
        // What follows a break is not read, but it belongs to the file.
        stream.skip_to(u64::MAX)?;
        Ok(self.finish())
    }

    fn plane(&mut self, plane: &mut Plane) -> Result<(), FormatError> {
        self.delivery.plane(plane, &mut self.teller)?;
        let (name, _, metadata, _) = plane.parts()?;
        match PlaneRole::of(name) {
            PlaneRole::Programs => self.programs(metadata),
            PlaneRole::Device { number: Some(number), .. } => self.devices.add(number, metadata),
            _ if name == "Task Environment" => {
                let time = |name| metadata.of_plane(name).and_then(StatValue::as_i64);
                self.profile_start_ns = self.profile_start_ns.or(time("profile_start_time"));
                self.profile_stop_ns = self.profile_stop_ns.or(time("profile_stop_time"));
            }
            _ => {}
        }
        if self.planes.len() < MOST_PLANES {
            self.planes.push(plane.as_json());
        }
        Ok(())
    }

    /// Programs that were compiled, and the versions of what compiled them.
    fn programs(&mut self, metadata: &Metadata) {
        let mut programs: Vec<_> = metadata.event_kinds.iter().collect();
        programs.sort_unstable_by_key(|(id, _)| **id);
        for (&id, kind) in programs {
            let described: u64 =
                kind.stats.iter().map(|stat| if let StatValue::Bytes(n) = stat.value { n } else { 0 }).sum();
            let bytes = kind.described_bytes.saturating_add(described);
            self.teller.sink.program(&Program { id, name: &kind.name, bytes });
        }
        for key in ["jax_version", "jaxlib_version"] {
            if let Some(version) = metadata.of_plane(key).and_then(|value| metadata.text(value)) {
                self.teller.sink.header(key, &Value::Text(version.into()));
            }
        }
    }

    /// The name of the host, or what the profiler has to say about its recording.
    fn words(&mut self, stream: &mut Stream<'_>, number: u32, length: u64) -> Result<(), FormatError> {
        let offset_bytes = stream.offset_bytes;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.teller.limits.max_string_bytes);
        let text = String::from_utf8_lossy(stream.bytes(length)?).into_owned();
        if number == 4 {
            self.host.get_or_insert(text);
        } else {
            let short: String = text.chars().take(80).collect();
            self.teller.warn(PROFILER_MESSAGE, offset_bytes, &short);
        }
        Ok(())
    }

    /// What is known only at the end.
    fn finish(mut self) -> Vec<Note> {
        let sink = &mut *self.teller.sink;
        if let Some(host) = &self.host {
            self.delivery.tracks.name_host(host, sink);
            sink.header("host_name", &Value::Text(host.as_str().into()));
        }
        for (key, time) in [("profile_start_ns", self.profile_start_ns), ("profile_stop_ns", self.profile_stop_ns)] {
            if let Some(time) = time {
                sink.header(key, &Value::Number(&time.to_string()));
            }
        }
        sink.header("planes", &Value::Json(format!("[{}]", self.planes.join(",")).into()));
        if let Some(start_ns) = self.profile_start_ns.filter(|_| self.delivery.times_are_relative) {
            sink.header("baseTimeNanoseconds", &Value::Number(&start_ns.to_string()));
        }
        if let Some(devices) = self.devices.as_json() {
            sink.header("deviceProperties", &Value::Json(devices.into()));
        }
        if self.teller.has_invalid_utf8 {
            self.notes.push(Note::InvalidUtf8);
        }
        self.notes
    }
}
