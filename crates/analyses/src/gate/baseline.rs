//! The file that a baseline is kept in: what the test needs of each run, small and readable.

use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter};

use super::measured::GateRun;

/// What kind of file it is, and of which version.
const SCHEMA: &str = "stepscope.baseline/1";

/// Bytes that a file should not exceed: older runs then keep their series, but not what only explains.
const LARGEST_BYTES: usize = 200_000;

/// Runs that others are compared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    stepscope: String,
    /// The runs, the oldest first.
    pub runs: Vec<GateRun>,
}

/// Why a file is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It is not JSON of that shape.
    #[error("expected a baseline: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is something else, or of a later version.
    #[error("expected {SCHEMA}, found: {0}")]
    Schema(String),
    /// There is nothing to compare with.
    #[error("the baseline has no runs")]
    Empty,
}

impl Baseline {
    /// A baseline of these runs.
    #[must_use]
    pub fn new(runs: Vec<GateRun>, version: &str) -> Self {
        Self { schema: SCHEMA.to_owned(), stepscope: version.to_owned(), runs }
    }

    /// Reads a file.
    pub fn read(text: &str) -> Result<Self, BaselineError> {
        let file: serde_json::Value = serde_json::from_str(text)?;
        let schema = file.get("schema").and_then(serde_json::Value::as_str).unwrap_or("no schema");
        if schema != SCHEMA {
            return Err(BaselineError::Schema(schema.to_owned()));
        }
        let baseline: Self = serde_json::from_value(file)?;
        if baseline.runs.is_empty() { Err(BaselineError::Empty) } else { Ok(baseline) }
    }

    /// The file, with one line per series.
    #[must_use]
    pub fn written(&self) -> String {
        let mut kept = self.clone();
        kept.runs.iter_mut().for_each(GateRun::shorten_path);
        loop {
            let text = lines(&kept);
            let oldest = kept.runs.iter_mut().find(|run| run.has_path());
            match oldest {
                Some(run) if text.len() > LARGEST_BYTES => run.without_path(),
                _ => return text,
            }
        }
    }
}

fn lines(baseline: &Baseline) -> String {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, ListsInLines::default());
    // Texts and finite numbers always have a form in JSON.
    let _ = baseline.serialize(&mut writer);
    text.push(b'\n');
    String::from_utf8_lossy(&text).into_owned()
}

/// Objects with a line per member, lists of values in one.
#[derive(Default)]
struct ListsInLines<'a> {
    pretty: PrettyFormatter<'a>,
}

impl Formatter for ListsInLines<'_> {
    fn write_f64<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        // Whole numbers as such: nanoseconds and bytes are.
        if value.fract() == 0.0 && value.abs() < 9e15 {
            write!(writer, "{}", value as i64)
        } else {
            write!(writer, "{value}")
        }
    }

    fn begin_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn end_array_value<W: ?Sized + std::io::Write>(&mut self, _writer: &mut W) -> std::io::Result<()> {
        Ok(())
    }

    fn end_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.pretty.begin_object(writer)
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.pretty.end_object_value(writer)
    }

    fn end_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.pretty.end_object(writer)
    }
}
