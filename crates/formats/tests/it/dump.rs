//! What a reader says about a trace, as text.

use std::fmt::Write as _;
use std::io::BufRead;

use stepscope_formats::{Event, FormatError, Limits, ReadSummary, TraceSink, Value, Warning, read_trace};
use stepscope_model::Note;

/// Keeps everything as lines of text.
#[derive(Default)]
pub(crate) struct Dump {
    /// Header entries.
    pub headers: Vec<String>,
    /// Events, without their place.
    pub events: Vec<String>,
    /// Codes of warnings, with the position of the element.
    pub warnings: Vec<String>,
    /// Everything, in the order it came.
    pub lines: Vec<String>,
    /// Elements seen, as events or losses.
    pub elements: u64,
    /// Elements that are lost.
    pub losses: u64,
}

impl TraceSink for Dump {
    fn header(&mut self, key: &str, value: &Value<'_>) {
        self.headers.push(format!("{key}: {}", show(value)));
        self.lines.extend(self.headers.last().cloned());
    }

    fn event(&mut self, event: &Event<'_>) {
        assert_eq!(event.position, self.elements, "events are numbered");
        self.elements += 1;
        let mut line = String::new();
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
        for (name, value) in fields {
            if *value != Value::Missing {
                write!(line, " {name}={}", show(value)).unwrap();
            }
        }
        for (key, value) in event.args.iter() {
            write!(line, " [{key}]={}", show(&value)).unwrap();
        }
        self.lines.push(format!("#{}{line}", event.position));
        self.events.push(line);
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        let about = warning.position.map(|position| format!(" #{position}")).unwrap_or_default();
        if warning.code.is_loss {
            assert_eq!(warning.position, Some(self.elements), "losses are numbered");
            self.elements += 1;
            self.losses += 1;
        }
        assert!(warning.detail.len() <= 100, "details are short");
        self.warnings.push(format!("{}{about}", warning.code.code));
        self.lines.push(format!("! {}{about} @{}", warning.code.code, warning.offset_bytes));
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

/// Counts elements, and nothing else.
#[derive(Default)]
pub(crate) struct Count {
    /// Events.
    pub(crate) events: u64,
    /// Elements that are lost.
    pub(crate) losses: u64,
    /// Warnings of any kind.
    pub(crate) warnings: u64,
}

impl TraceSink for Count {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        assert_eq!(event.position, self.events + self.losses);
        self.events += 1;
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        self.warnings += 1;
        self.losses += u64::from(warning.code.is_loss);
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn show(value: &Value<'_>) -> String {
    match value {
        Value::Missing => "(missing)".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => (*text).to_owned(),
        Value::Text(text) => format!("{text:?}"),
        Value::Json(text) => {
            // `raw_value` of serde_json takes what any strict reader takes.
            serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            format!("json {text}")
        }
    }
}

/// Reads a trace with the usual limits.
pub(crate) fn read(input: impl BufRead + Send) -> (Dump, Result<ReadSummary, FormatError>) {
    read_within(input, &Limits::default())
}

/// Reads a trace.
pub(crate) fn read_within(input: impl BufRead + Send, limits: &Limits) -> (Dump, Result<ReadSummary, FormatError>) {
    let mut dump = Dump::default();
    let summary = read_trace(input, limits, &mut dump);
    (dump, summary)
}

/// The words of notes.
pub(crate) fn words(notes: &[Note]) -> Vec<&'static str> {
    notes.iter().map(|note| note.as_text()).collect()
}

/// The dump of `input` is `want`, a line an item; the last line is the notes or the error.
#[track_caller]
pub(crate) fn check(input: impl AsRef<[u8]>, want: &str) {
    check_within(input, &Limits::default(), want);
}

/// The same with limits.
#[track_caller]
pub(crate) fn check_within(input: impl AsRef<[u8]>, limits: &Limits, want: &str) {
    let input = input.as_ref();
    let (dump, summary) = read_within(input, limits);
    let mut lines = dump.lines;
    lines.push(match summary {
        Ok(summary) => {
            assert_eq!(summary.bytes_plain, input.len() as u64);
            assert_eq!(summary.format, "chrome_trace");
            format!("notes: {}", words(&summary.notes).join(" ")).trim_end().to_owned()
        }
        Err(error) => format!("error: {error}"),
    });
    let want: Vec<&str> = want.trim().lines().map(str::trim).collect();
    assert_eq!(lines.join("\n"), want.join("\n"), "of {}", input[..input.len().min(2000)].escape_ascii());
}
