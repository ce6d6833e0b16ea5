//! What a reader says about a valid trace, as JSON again, to be compared with `serde_json`.

use serde_json::Value as Json;
use stepscope_formats::{Event, TraceSink, Value, Warning};

/// Events and header entries, as JSON again.
#[derive(Default, Debug, PartialEq)]
pub(crate) struct Seen {
    headers: Vec<(String, Json)>,
    events: Vec<Vec<(String, Json)>>,
}

impl TraceSink for Seen {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.headers.push((key.to_owned(), json(value).expect("header values are there")));
    }

    fn event(&mut self, event: &Event<'_>) {
        let fields = [
            ("ph", &event.recorded_phase),
            ("cat", &event.category),
            ("name", &event.name),
            ("ts", &event.start.recorded),
            ("dur", &event.dur.recorded),
            ("pid", &event.process),
            ("tid", &event.thread),
            ("id", &event.id),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json(value)?)));
        let args = event.args.iter().filter_map(|(key, value)| Some((format!("args.{key}"), json(&value)?)));
        self.events.push(fields.chain(args).collect());
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        panic!("valid, but: {warning:?}");
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn json(value: &Value<'_>) -> Option<Json> {
    Some(match value {
        Value::Missing => return None,
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Number(text) => serde_json::from_str(text).expect("a valid number"),
        Value::Json(text) => serde_json::from_str(text).expect("valid JSON"),
    })
}

impl Seen {
    /// What `serde_json` sees in a trace.
    pub(crate) fn expected(whole: &Json) -> Self {
        let list = whole.get("traceEvents").unwrap_or(whole).as_array().expect("a list");
        let headers = whole.as_object().into_iter().flatten().filter(|member| member.0 != "traceEvents");
        Self {
            headers: headers.map(|(key, value)| (key.clone(), value.clone())).collect(),
            events: list.iter().map(expected_event).collect(),
        }
    }
}

fn expected_event(event: &Json) -> Vec<(String, Json)> {
    let keys = ["ph", "cat", "name", "ts", "dur", "pid", "tid", "id"];
    let fields = keys.into_iter().filter_map(|key| Some((key.to_owned(), event.get(key)?.clone())));
    let args = event.get("args").and_then(Json::as_object).into_iter().flatten();
    fields.chain(args.map(|(key, value)| (format!("args.{key}"), value.clone()))).collect()
}
