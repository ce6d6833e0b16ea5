//! Writes Chrome traces, the format that every trace viewer opens.
//!
//! Events go out one by one, so a trace of any size needs no memory. Times are integers of nanoseconds and become
//! decimal text, never a float. What is written here is read back by this crate's reader without a difference.

use std::io::{self, Write};

use stepscope_model::Phase;

/// A value to be written: an argument, a member of the header, the id of a process or thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonValue<'a> {
    /// An integer.
    Int(i64),
    /// A number with a fraction; one that JSON has no text for is written as `null`.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A string, not escaped yet.
    Text(&'a str),
    /// Valid JSON, written as it stands.
    Json(&'a str),
}

impl From<i64> for JsonValue<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for JsonValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// One event to be written.
#[derive(Clone, Copy, Debug)]
pub struct ChromeEvent<'a> {
    /// `ph`.
    pub phase: Phase,
    /// `cat`.
    pub category: Option<&'a str>,
    /// `name`.
    pub name: &'a str,
    /// `pid`.
    pub process: JsonValue<'a>,
    /// `tid`.
    pub thread: JsonValue<'a>,
    /// `ts`, in nanoseconds.
    pub ts_ns: i64,
    /// `dur`, in nanoseconds.
    pub dur_ns: Option<i64>,
    /// `id`, of flows and asynchronous events.
    pub id: Option<JsonValue<'a>>,
    /// Members of `args`.
    pub args: &'a [(&'a str, JsonValue<'a>)],
    /// Further members of `args`, as the text of a JSON object.
    pub more_args: Option<&'a str>,
}

/// Streams a trace to `out`: the header first, then an event a line. Every event is one write.
#[derive(Debug)]
pub struct ChromeWriter<W: Write> {
    out: W,
    line: Vec<u8>,
    has_events: bool,
}

impl<W: Write> ChromeWriter<W> {
    /// Starts a trace with the members of its header, such as `schemaVersion`, `deviceProperties` or
    /// `baseTimeNanoseconds`.
    pub fn begin(out: W, header: &[(&str, JsonValue<'_>)]) -> io::Result<Self> {
        let mut writer = Self { out, line: b"{\n".to_vec(), has_events: false };
        for (key, value) in header {
            push_text(&mut writer.line, key);
            writer.line.extend_from_slice(b": ");
            push_value(&mut writer.line, *value);
            writer.line.extend_from_slice(b",\n");
        }
        writer.line.extend_from_slice(b"\"traceEvents\": [");
        writer.out.write_all(&writer.line)?;
        Ok(writer)
    }

    /// Writes one event.
    pub fn event(&mut self, event: &ChromeEvent<'_>) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(if self.has_events { b",\n{" } else { b"\n{" });
        push_member(line, "ph", event.phase.as_text().into());
        if let Some(category) = event.category {
            push_member(line, "cat", category.into());
        }
        push_member(line, "name", event.name.into());
        push_member(line, "pid", event.process);
        push_member(line, "tid", event.thread);
        push_time(line, "ts", event.ts_ns);
        if let Some(dur_ns) = event.dur_ns {
            push_time(line, "dur", dur_ns);
        }
        if let Some(id) = event.id {
            push_member(line, "id", id);
        }
        match event.phase {
            // A viewer draws an instant across the whole trace unless it is told that it belongs to its thread, and
            // ends a flow at the next span unless it is told that it ends at the one around it.
            Phase::Instant => push_member(line, "s", "t".into()),
            Phase::FlowEnd => push_member(line, "bp", "e".into()),
            _ => {}
        }
        let more_args = members(event.more_args.unwrap_or_default());
        if !event.args.is_empty() || !more_args.is_empty() {
            push_key(line, "args");
            line.push(b'{');
            for (key, value) in event.args {
                push_member(line, key, *value);
            }
            if !event.args.is_empty() && !more_args.is_empty() {
                line.extend_from_slice(b", ");
            }
            line.extend_from_slice(more_args.as_bytes());
            line.push(b'}');
        }
        line.push(b'}');
        self.has_events = true;
        self.out.write_all(&self.line)
    }

    /// Closes the document and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// What stands between the brackets of a JSON object.
fn members(object: &str) -> &str {
    let inner = object.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.unwrap_or_default().trim()
}

fn push_key(line: &mut Vec<u8>, key: &str) {
    if line.last() != Some(&b'{') {
        line.extend_from_slice(b", ");
    }
    push_text(line, key);
    line.extend_from_slice(b": ");
}

fn push_member(line: &mut Vec<u8>, key: &str, value: JsonValue<'_>) {
    push_key(line, key);
    push_value(line, value);
}

/// Nanoseconds as decimal microseconds.
fn push_time(line: &mut Vec<u8>, key: &str, time_ns: i64) {
    push_key(line, key);
    let sign = if time_ns < 0 { "-" } else { "" };
    let size = time_ns.unsigned_abs();
    push_display(line, format_args!("{sign}{}.{:03}", size / 1000, size % 1000));
}

fn push_value(line: &mut Vec<u8>, value: JsonValue<'_>) {
    match value {
        JsonValue::Int(value) => push_display(line, format_args!("{value}")),
        JsonValue::Float(value) if value.is_finite() => push_display(line, format_args!("{value}")),
        JsonValue::Float(_) => line.extend_from_slice(b"null"),
        JsonValue::Bool(value) => push_display(line, format_args!("{value}")),
        JsonValue::Text(text) => push_text(line, text),
        JsonValue::Json(json) => line.extend_from_slice(json.as_bytes()),
    }
}

fn push_text(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            0..0x20 => push_display(line, format_args!("\\u{byte:04x}")),
            _ => line.push(byte),
        }
    }
    line.push(b'"');
}

fn push_display(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = line.write_fmt(text);
}
