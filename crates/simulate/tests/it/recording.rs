//! A written trace, as the reader sees it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde_json::Value as Json;
use stepscope_formats::{Event, Limits, TraceSink, Value, Warning, read_trace};
use stepscope_model::Phase;

/// A trace, whole in memory.
#[derive(Default)]
pub(crate) struct Recording {
    pub headers: BTreeMap<String, Json>,
    pub events: Vec<Recorded>,
}

/// One event.
pub(crate) struct Recorded {
    pub phase: Phase,
    pub category: String,
    pub name: String,
    pub thread: (String, String),
    pub start_ns: i64,
    pub dur_ns: i64,
    pub id: Json,
    pub args: BTreeMap<String, Json>,
}

impl Recorded {
    pub(crate) fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }

    pub(crate) fn int(&self, key: &str) -> Option<i64> {
        self.args.get(key)?.as_i64()
    }
}

impl Recording {
    /// Reads a trace; anything that is not right with it is a failure.
    pub(crate) fn read(path: &Path) -> Self {
        let mut recording = Self::default();
        let summary = read_trace(BufReader::new(File::open(path).unwrap()), &Limits::default(), &mut recording);
        assert_eq!(summary.unwrap().notes, []);
        recording
    }

    /// The spans of a category.
    pub(crate) fn of(&self, category: &str) -> impl Iterator<Item = &Recorded> {
        self.events.iter().filter(move |event| event.category == category)
    }

    /// The kernels of collectives, in the order of the file.
    pub(crate) fn collectives(&self) -> Vec<&Recorded> {
        self.of("kernel").filter(|kernel| kernel.name.starts_with("nccl")).collect()
    }
}

impl TraceSink for Recording {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.headers.insert(key.to_owned(), json(value));
    }

    fn event(&mut self, event: &Event<'_>) {
        let text = |value: &Value<'_>| json(value).as_str().unwrap_or_default().to_owned();
        self.events.push(Recorded {
            phase: event.phase.unwrap(),
            category: text(&event.category),
            name: text(&event.name),
            thread: (json(&event.process).to_string(), json(&event.thread).to_string()),
            start_ns: event.start.ns.unwrap_or(0),
            dur_ns: event.dur.ns.unwrap_or(0),
            id: json(&event.id),
            args: event.args.iter().map(|(key, value)| (key.into_owned(), json(&value))).collect(),
        });
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        panic!("{warning:?}");
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn json(value: &Value<'_>) -> Json {
    match value {
        Value::Missing | Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Number(text) => serde_json::from_str(text).unwrap(),
        Value::Json(text) => serde_json::from_str(text).unwrap(),
    }
}
