//! Makes a long recording out of a real one: its events, again and again along the time axis.
//!
//! Every copy is moved behind the one before. Ids are moved too, so that links stay one to one, and the numbers of
//! profiler steps go on counting. The layout is that of one long recording by Kineto: metadata; operators and annotations
//! of all copies; Python frames; runtime calls and device work; flows; then header keys that Kineto writes last.
//! A source is taken apart once, into text with holes for the numbers that change, so that a copy costs little more than
//! copying bytes.

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::decimal::{self, Decimal};
use crate::json_text::{elements, members, push_spaced};

/// What ids move by from copy to copy.
const ID_STEP: i64 = 100_000_000;

/// Microseconds between the last end of a copy and the first start of the next, rounding apart.
const GAP_US: i128 = 1_000;

/// Arguments that hold an id. Zero means none and stays.
const ID_ARGUMENTS: [&str; 6] =
    ["correlation", "External id", "external id", "Python id", "Python parent id", "Ev Idx"];

/// Header keys that Kineto writes behind the events.
const LATE_KEYS: [&str; 4] = ["baseTimeNanoseconds", "displayTimeUnit", "distributedInfo", "traceName"];

/// Categories of the third group.
const DEVICE_CATEGORIES: [&str; 11] = [
    "cuda_runtime",
    "cuda_driver",
    "runtime",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "memcpy",
    "memset",
    "gpu_user_annotation",
    "cuda_sync",
    "overhead",
];

const GROUPS: usize = 4;
const STEP_PREFIX: &str = "\"ProfilerStep#";

/// A real trace, taken apart.
pub(crate) struct Amplifier {
    /// Everything up to the first event that is copied.
    opening: Vec<u8>,
    groups: [Pieces; GROUPS],
    /// Everything behind the last event.
    closing: Vec<u8>,
    has_metadata: bool,
}

/// Events of one group: text, and the numbers that belong into it.
#[derive(Default)]
struct Pieces {
    text: Vec<u8>,
    holes: Vec<Hole>,
}

/// A number of the text that grows from copy to copy.
struct Hole {
    at: usize,
    units: i64,
    places: u32,
    step: i64,
}

impl Amplifier {
    /// Takes a Chrome trace apart.
    pub(crate) fn new(document: &str) -> Result<Self> {
        let is_bare = document.trim_start().starts_with('[');
        let head = if is_bare { Vec::new() } else { members(document)? };
        let list = head.iter().find(|(key, _)| *key == "traceEvents").map(|(_, value)| *value);
        let events = elements(if is_bare { document } else { list.context("the trace has no traceEvents")? })?;
        let events = events.into_iter().map(members).collect::<Result<Vec<_>>>()?;
        let moves = Moves::of(&events)?;

        let (late, early): (Vec<_>, Vec<_>) =
            head.into_iter().filter(|(key, _)| *key != "traceEvents").partition(|(key, _)| LATE_KEYS.contains(key));
        let mut opening = b"{".to_vec();
        for (key, value) in early {
            push_member(&mut opening, key, value)?;
            opening.extend_from_slice(b", ");
        }
        opening.extend_from_slice(b"\"traceEvents\": [\n");
        let mut closing = b"\n]".to_vec();
        for (key, value) in late {
            closing.extend_from_slice(b", ");
            push_member(&mut closing, key, value)?;
        }
        closing.extend_from_slice(b"}\n");

        let mut groups: [Pieces; GROUPS] = Default::default();
        let mut has_metadata = false;
        for event in &events {
            if member(event, "ph") == Some("\"M\"") {
                if has_metadata {
                    opening.extend_from_slice(b",\n");
                }
                has_metadata = true;
                let mut pieces = Pieces::default();
                pieces.push(event, &Moves::default())?;
                opening.append(&mut pieces.fill());
            } else {
                let pieces = &mut groups[group(event)];
                pieces.text.extend_from_slice(b",\n");
                pieces.push(event, &moves)?;
            }
        }
        Ok(Self { opening, groups, closing, has_metadata })
    }

    /// Writes the recording with that many copies.
    pub(crate) fn write(&self, copies: u32, out: &mut dyn Write) -> Result<()> {
        out.write_all(&self.opening)?;
        let mut is_first = !self.has_metadata;
        let mut buffer = Vec::new();
        for pieces in &self.groups {
            for copy in 0..copies {
                buffer.clear();
                pieces.fill_copy(copy, &mut buffer);
                // The separator stands before each event; the first of the list has none.
                let skipped = if is_first && !buffer.is_empty() { 2 } else { 0 };
                is_first &= buffer.is_empty();
                out.write_all(&buffer[skipped..])?;
            }
        }
        Ok(out.write_all(&self.closing)?)
    }
}

impl Pieces {
    fn push(&mut self, event: &[(&str, &str)], moves: &Moves) -> Result<()> {
        self.text.push(b'{');
        for (number, (key, value)) in event.iter().enumerate() {
            if number > 0 {
                self.text.extend_from_slice(b", ");
            }
            match *key {
                "ts" => self.push_time(value, moves)?,
                "id" if whole(value).is_some() => self.push_id(key, value, moves)?,
                "name" if step_number(value).is_some() && moves.step_number != 0 => {
                    self.text.extend_from_slice(b"\"name\": \"ProfilerStep#");
                    let units = step_number(value).unwrap_or_default();
                    self.holes.push(Hole { at: self.text.len(), units, places: 0, step: moves.step_number });
                    self.text.push(b'"');
                }
                "args" if value.starts_with('{') => self.push_arguments(value, moves)?,
                _ => push_member(&mut self.text, key, value)?,
            }
        }
        self.text.push(b'}');
        Ok(())
    }

    fn push_time(&mut self, value: &str, moves: &Moves) -> Result<()> {
        let time = Decimal::parse(value.trim_matches('"')).with_context(|| format!("ts {value} is no decimal"))?;
        self.text.extend_from_slice(b"\"ts\": ");
        let step = i64::try_from(moves.time_us * 10_i128.pow(time.places))?;
        let units = i64::try_from(time.units)?;
        self.holes.push(Hole { at: self.text.len(), units, places: time.places, step });
        Ok(())
    }

    fn push_id(&mut self, key: &str, value: &str, moves: &Moves) -> Result<()> {
        let Some(units) = whole(value) else { return push_member(&mut self.text, key, value) };
        self.text.extend_from_slice(format!("\"{key}\": ").as_bytes());
        self.holes.push(Hole { at: self.text.len(), units, places: 0, step: moves.id });
        Ok(())
    }

    fn push_arguments(&mut self, value: &str, moves: &Moves) -> Result<()> {
        self.text.extend_from_slice(b"\"args\": {");
        for (number, (key, value)) in members(value)?.into_iter().enumerate() {
            if number > 0 {
                self.text.extend_from_slice(b", ");
            }
            if ID_ARGUMENTS.contains(&key) && whole(value).is_some_and(|id| id != 0) {
                self.push_id(key, value, moves)?;
            } else {
                push_member(&mut self.text, key, value)?;
            }
        }
        self.text.push(b'}');
        Ok(())
    }

    fn fill(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.fill_copy(0, &mut out);
        out
    }

    fn fill_copy(&self, copy: u32, out: &mut Vec<u8>) {
        let mut from = 0;
        for hole in &self.holes {
            out.extend_from_slice(&self.text[from..hole.at]);
            decimal::push(out, hole.units + i64::from(copy) * hole.step, hole.places);
            from = hole.at;
        }
        out.extend_from_slice(&self.text[from..]);
    }
}

/// What numbers grow by from copy to copy.
#[derive(Default)]
struct Moves {
    time_us: i128,
    id: i64,
    step_number: i64,
}

impl Moves {
    fn of(events: &[Vec<(&str, &str)>]) -> Result<Self> {
        let number = |text: &str| Decimal::parse(text.trim_matches('"')).map(Decimal::common_units);
        let (mut low, mut high) = (i128::MAX, i128::MIN);
        let mut steps: Vec<i64> = Vec::new();
        for event in events {
            if let (Some("\"X\""), Some(time)) = (member(event, "ph"), member(event, "ts")) {
                let start = number(time).with_context(|| format!("ts {time} is no decimal"))?;
                low = low.min(start);
                high = high.max(start + member(event, "dur").and_then(number).unwrap_or(0));
            }
            steps.extend(member(event, "name").and_then(step_number));
        }
        if low > high {
            bail!("the trace has no complete event to measure its length by");
        }
        let range = steps.iter().max().zip(steps.iter().min());
        let step_number = range.map_or(0, |(last, first)| last - first + 1);
        Ok(Self { time_us: Decimal::whole(high - low) + GAP_US, id: ID_STEP, step_number })
    }
}

fn member<'a>(event: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    event.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
}

fn push_member(out: &mut Vec<u8>, key: &str, value: &str) -> Result<()> {
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\": ");
    push_spaced(out, value)
}

fn whole(value: &str) -> Option<i64> {
    value.parse().ok()
}

fn step_number(name: &str) -> Option<i64> {
    name.strip_prefix(STEP_PREFIX)?.strip_suffix('"')?.parse().ok()
}

fn group(event: &[(&str, &str)]) -> usize {
    if matches!(member(event, "ph"), Some("\"s\"" | "\"f\"")) {
        return 3;
    }
    let category = member(event, "cat").unwrap_or_default().trim_matches('"').to_lowercase();
    match category.as_str() {
        device if DEVICE_CATEGORIES.contains(&device) => 2,
        "python_function" | "python" => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Amplifier;

    /// What `amplify.py` of the shared bench folder writes for this document and two copies.
    #[test]
    fn copies_move_times_ids_and_steps() {
        let document = r#"{"schemaVersion":1,"distributedInfo":{"rank":3},"traceEvents":[
            {"ph":"X","cat":"kernel","name":"k","ts":20.5,"dur":5,"args":{"correlation":7,"External id":0}},
            {"ph":"M","name":"process_name","ts":1,"args":{"name":"python"}},
            {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","ts":10.250,"dur":20},
            {"ph":"s","id":7,"ts":11,"name":"flow"}]}"#;
        let mut out = Vec::new();
        Amplifier::new(document).unwrap().write(2, &mut out).unwrap();
        let expected = r#"{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "ts": 1, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "ts": 10.250, "dur": 20},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "ts": 1030.250, "dur": 20},
{"ph": "X", "cat": "kernel", "name": "k", "ts": 20.5, "dur": 5, "args": {"correlation": 7, "External id": 0}},
{"ph": "X", "cat": "kernel", "name": "k", "ts": 1040.5, "dur": 5, "args": {"correlation": 100000007, "External id": 0}},
{"ph": "s", "id": 7, "ts": 11, "name": "flow"},
{"ph": "s", "id": 100000007, "ts": 1031, "name": "flow"}
], "distributedInfo": {"rank": 3}}
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
