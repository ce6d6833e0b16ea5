//! Writes a part of a run as Chrome traces that any viewer opens, and that Stepscope reads again.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use stepscope_analyses::Asking;
use stepscope_formats::{ChromeEvent, ChromeWriter, JsonValue};
use stepscope_model::args::{ArgForm, SPAN_ARGS};
use stepscope_model::{Phase, SourceRecord};
use stepscope_runs::{Frame, RunError, refuse_folder};

use crate::output::{Output, SealedFile};

/// A trace that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// Where.
    pub path: PathBuf,
    /// How many events.
    pub events: u64,
}

/// Writes one file for one recording, or a folder of them for several. Files appear together, when all are complete.
pub(crate) fn trim(asking: &Asking<'_>, output: &Path, inputs: &[PathBuf]) -> Result<Vec<Trimmed>, RunError> {
    if let [source] = asking.sources() {
        let (events, file) = write_file(asking, source, output, inputs)?;
        file.publish()?;
        return Ok(vec![Trimmed { path: output.to_owned(), events }]);
    }
    if output.extension().is_some_and(|extension| extension == "json" || extension == "gz") {
        return Err(RunError::SeveralToOneFile { path: output.to_owned(), count: asking.sources().len() });
    }
    refuse_folder(output, inputs)?;
    std::fs::create_dir_all(output).map_err(|source| RunError::write(output, source))?;
    let (mut written, mut files) = (Vec::new(), Vec::new());
    for source in asking.sources() {
        let path = output.join(format!("rank{}.window{}.pt.trace.json.gz", source.id.rank, source.id.window));
        let (events, file) = write_file(asking, source, &path, inputs)?;
        written.push(Trimmed { path, events });
        files.push(file);
    }
    files.into_iter().try_for_each(SealedFile::publish)?;
    Ok(written)
}

/// What can go wrong: a question, or the file.
enum Trouble {
    Question(RunError),
    File(std::io::Error),
}

impl Trouble {
    fn at(self, fail: impl FnOnce(std::io::Error) -> RunError) -> RunError {
        match self {
            Self::Question(error) => error,
            Self::File(error) => fail(error),
        }
    }
}

impl From<RunError> for Trouble {
    fn from(error: RunError) -> Self {
        Self::Question(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::File(error)
    }
}

fn write_file(
    asking: &Asking<'_>,
    source: &SourceRecord,
    path: &Path,
    inputs: &[PathBuf],
) -> Result<(u64, SealedFile), RunError> {
    let file = BufWriter::new(Output::at(path, inputs)?.create()?);
    let fail = |source| RunError::write(path, source);
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    let (events, file) = if is_compressed {
        let mut encoder = GzEncoder::new(file, Compression::default());
        let events = write_trace(asking, source, &mut encoder).map_err(|error| error.at(fail))?;
        (events, encoder.finish().map_err(fail)?)
    } else {
        let mut file = file;
        let events = write_trace(asking, source, &mut file).map_err(|error| error.at(fail))?;
        (events, file)
    };
    let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
    Ok((events, file.seal()?))
}

fn write_trace(asking: &Asking<'_>, source: &SourceRecord, out: &mut dyn Write) -> Result<u64, Trouble> {
    let header = header(source);
    let header: Vec<(&str, JsonValue<'_>)> =
        header.iter().map(|(key, value)| (*key, JsonValue::Json(value.as_str()))).collect();
    let part = Part::of(asking, source)?;
    let tracks = Tracks::read(asking, source)?;
    let mut trace =
        Trace { writer: ChromeWriter::begin(out, &header)?, base_ns: source.base_time_ns, tracks: &tracks, events: 0 };
    trace.names()?;
    for table in ["spans", "flows", "memory_events", "counters"] {
        let time = if table == "spans" { "start_ns" } else { "ts_ns" };
        let mut outcome = Ok(());
        let statement = format!("SELECT * FROM {table} WHERE {} ORDER BY {time}, position", part.condition(table));
        asking.walk(&statement, |rows| {
            if outcome.is_ok() {
                outcome = match table {
                    "spans" => trace.spans(rows),
                    "flows" => trace.flows(rows),
                    "memory_events" => trace.memory(rows),
                    _ => trace.counters(rows),
                };
            }
            Ok(())
        })?;
        outcome?;
    }
    let events = trace.events;
    trace.writer.finish()?;
    Ok(events)
}

/// What a viewer and Stepscope itself take from the header.
fn header(source: &SourceRecord) -> Vec<(&'static str, String)> {
    let device = |device: &stepscope_model::Device| {
        json!({
            "id": device.id,
            "name": device.name,
            "totalGlobalMem": device.memory_bytes,
            "computeMajor": device.compute_major,
            "numSms": device.multiprocessors,
        })
    };
    let mut header = vec![("schemaVersion", source.trace_schema_version.to_string())];
    if let Some(devices) = &source.devices {
        header.push(("deviceProperties", Json::from(devices.iter().map(device).collect::<Vec<_>>()).to_string()));
    }
    if !source.header_rank.is_null() {
        let info = json!({ "rank": source.header_rank, "world_size": source.header_world_size });
        header.push(("distributedInfo", info.to_string()));
    }
    header.push(("baseTimeNanoseconds", source.base_time_ns.to_string()));
    header
}

/// The part of a recording that is written.
struct Part {
    source: String,
    steps: Option<String>,
    /// From where to where.
    range: Option<(i64, i64)>,
    /// Host times of the steps that the range cuts: marks of them would make whole steps of what is left.
    cut_steps: Vec<(i64, i64)>,
}

impl Part {
    fn of(asking: &Asking<'_>, source: &SourceRecord) -> Result<Self, RunError> {
        let id = source.id;
        let condition = format!("rank = {} AND \"window\" = {}", id.rank, id.window);
        let question = asking.question();
        let steps = asking.step_condition().map(str::to_owned);
        let range = if question.has_time_range() {
            let first = source.first_event_ns.unwrap_or(0);
            let end = |time: Option<i64>, otherwise: i64| time.map_or(otherwise, |time| first.saturating_add(time));
            Some((end(question.from_ns, i64::MIN), end(question.to_ns, i64::MAX)))
        } else if let Some(steps) = &steps {
            let rows = asking.query(&format!(
                "SELECT min(least(start_ns, host_start_ns)) AS first_ns, max(end_ns) AS last_ns
                 FROM steps WHERE {condition} AND {steps}"
            ))?;
            let first = |name: &str| rows.i64(name).map(|values| values.first().copied().flatten());
            Some(first("first_ns")?.zip(first("last_ns")?).unwrap_or((0, 0)))
        } else {
            None
        };
        let cut_steps = match range.filter(|_| question.has_time_range()) {
            Some(range) => cut_steps(asking, &condition, range)?,
            None => Vec::new(),
        };
        Ok(Self { source: condition, steps, range, cut_steps })
    }

    /// The rows of a table. A span without a step belongs to the time of the steps; so does what has no length.
    fn condition(&self, table: &str) -> String {
        let Self { source, steps, range, cut_steps } = self;
        let Some((from, to)) = range else { return source.clone() };
        if table != "spans" {
            return format!("{source} AND ts_ns >= {from} AND ts_ns < {to}");
        }
        // The window of the profiler is as long as the whole recording.
        let cut_marks = cut_steps.iter().map(|(start, end)| {
            format!(" AND NOT (kind = 'ann' AND start_ns = {start} AND start_ns + dur_ns = {end})")
        });
        let cut_marks: String = cut_marks.collect();
        let in_time = format!("kind <> 'window' AND start_ns < {to} AND start_ns + dur_ns >= {from}{cut_marks}");
        match steps {
            Some(steps) => format!("{source} AND ({steps} OR step IS NULL AND {in_time})"),
            None => format!("{source} AND {in_time}"),
        }
    }
}

fn cut_steps(asking: &Asking<'_>, source: &str, (from, to): (i64, i64)) -> Result<Vec<(i64, i64)>, RunError> {
    let rows = asking.query(&format!(
        "SELECT host_start_ns, host_start_ns + host_dur_ns AS host_end_ns FROM steps
         WHERE {source} AND host_start_ns < {to} AND end_ns >= {from} AND (host_start_ns < {from} OR end_ns > {to})"
    ))?;
    let (starts, ends) = (rows.required_i64("host_start_ns")?, rows.required_i64("host_end_ns")?);
    Ok(starts.into_iter().zip(ends).collect())
}

/// Processes and threads as viewers know them.
struct Tracks {
    by_id: HashMap<i64, Track>,
}

struct Track {
    process: Json,
    thread: Json,
    is_async: bool,
    names: Vec<(&'static str, Json)>,
}

impl Tracks {
    fn read(asking: &Asking<'_>, source: &SourceRecord) -> Result<Self, RunError> {
        let id = source.id;
        let rows = asking.query(&format!(
            "SELECT * FROM tracks WHERE rank = {} AND \"window\" = {} ORDER BY track_id",
            id.rank, id.window
        ))?;
        let (ids, types) = (rows.required_i64("track_id")?, rows.text("type")?);
        let (processes, threads) = (rows.text("process")?, rows.text("thread")?);
        let texts =
            [("process_name", "process_name"), ("process_labels", "process_labels"), ("thread_name", "thread_name")];
        let texts = texts.map(|(event, column)| Ok::<_, RunError>((event, rows.text(column)?)));
        let texts = texts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let numbers = [("process_sort_index", "process_sort_index"), ("thread_sort_index", "thread_sort_index")];
        let numbers = numbers.map(|(event, column)| Ok::<_, RunError>((event, rows.i64(column)?)));
        let numbers = numbers.into_iter().collect::<Result<Vec<_>, _>>()?;
        let track = |row: usize| {
            let texts = texts.iter().filter_map(|(event, values)| Some((*event, Json::from(values[row].clone()?))));
            let numbers = numbers.iter().filter_map(|(event, values)| Some((*event, Json::from(values[row]?))));
            Track {
                process: as_recorded(processes[row].as_deref()),
                thread: as_recorded(threads[row].as_deref()),
                is_async: types[row].as_deref() == Some("async"),
                names: texts.chain(numbers).collect(),
            }
        };
        Ok(Self { by_id: ids.iter().enumerate().map(|(row, id)| (*id, track(row))).collect() })
    }
}

/// A pid or tid: a number where it is one.
fn as_recorded(text: Option<&str>) -> Json {
    match text {
        Some(text) => text.parse::<i64>().map_or_else(|_| Json::from(text), Json::from),
        None => Json::from(0),
    }
}

fn value(json: &Json) -> JsonValue<'_> {
    match json {
        Json::Number(number) => JsonValue::Int(number.as_i64().unwrap_or(0)),
        Json::String(text) => JsonValue::Text(text),
        _ => JsonValue::Int(0),
    }
}

/// An event of a track with nothing but a name and a time.
fn bare<'a>(track: &'a Track, phase: Phase, name: &'a str, ts_ns: i64) -> ChromeEvent<'a> {
    ChromeEvent {
        phase,
        category: None,
        name,
        process: value(&track.process),
        thread: value(&track.thread),
        ts_ns,
        dur_ns: None,
        id: None,
        args: &[],
        more_args: None,
    }
}

/// A trace being written.
struct Trace<'t, 'o> {
    writer: ChromeWriter<&'o mut dyn Write>,
    base_ns: i64,
    tracks: &'t Tracks,
    events: u64,
}

impl Trace<'_, '_> {
    fn event(&mut self, event: &ChromeEvent<'_>) -> Result<(), Trouble> {
        self.events += 1;
        Ok(self.writer.event(event)?)
    }

    /// Names and order of processes and threads.
    fn names(&mut self) -> Result<(), Trouble> {
        let mut ids: Vec<&i64> = self.tracks.by_id.keys().collect();
        ids.sort_unstable();
        for track in ids.into_iter().filter_map(|id| self.tracks.by_id.get(id)).filter(|track| !track.is_async) {
            for (name, named) in &track.names {
                let key = match *name {
                    "process_labels" => "labels",
                    "process_name" | "thread_name" => "name",
                    _ => "sort_index",
                };
                let text = named.to_string();
                let args = [(key, JsonValue::Json(&text))];
                self.event(&ChromeEvent { args: &args, ..bare(track, Phase::Metadata, name, 0) })?;
            }
        }
        Ok(())
    }

    fn spans(&mut self, rows: &Frame) -> Result<(), Trouble> {
        let required = |name: &str| rows.required_i64(name);
        let (track_ids, starts, durations) = (required("track_id")?, required("start_ns")?, required("dur_ns")?);
        let (phases, categories) = (rows.text("phase")?, rows.text("category")?);
        let (names, rest) = (rows.text("name")?, rows.text("args")?);
        let columns = SPAN_ARGS.iter().enumerate().map(|(index, arg)| {
            let column = stepscope_model::args::SPAN_ARG_COLUMNS[index].name;
            let values = match arg.form {
                ArgForm::Int => Values::Ints(rows.i64(column)?),
                ArgForm::Float => Values::Floats(rows.f64(column)?),
                ArgForm::Text => Values::Texts(rows.text(column)?),
                ArgForm::List | ArgForm::Digits => Values::Jsons(rows.text(column)?),
            };
            Ok((arg.keys[0], values))
        });
        let columns = columns.collect::<Result<Vec<_>, RunError>>()?;
        let tracks = self.tracks;
        for row in 0..rows.rows() {
            let Some(track) = tracks.by_id.get(&track_ids[row]) else { continue };
            let args: Vec<(&str, JsonValue<'_>)> =
                columns.iter().filter_map(|(key, values)| Some((*key, values.get(row)?))).collect();
            let lane = track.thread.as_str().and_then(|lane| lane.split_once(':')).map(|(_, id)| id);
            let phase = match phases[row].as_deref() {
                Some("i") => Phase::Instant,
                Some("b") => Phase::AsyncBegin,
                Some("n") => Phase::AsyncInstant,
                _ => Phase::Complete,
            };
            let name = names[row].as_deref().unwrap_or_default();
            let mut event = ChromeEvent {
                category: categories[row].as_deref(),
                dur_ns: (phase == Phase::Complete).then_some(durations[row]),
                args: &args,
                more_args: rest[row].as_deref(),
                ..bare(track, phase, name, starts[row] - self.base_ns)
            };
            if track.is_async {
                event.thread = JsonValue::Int(0);
                event.id = lane.map(JsonValue::Text);
            }
            self.event(&event)?;
            if phase == Phase::AsyncBegin {
                let ts_ns = event.ts_ns + durations[row];
                self.event(&ChromeEvent { phase: Phase::AsyncEnd, ts_ns, args: &[], more_args: None, ..event })?;
            }
        }
        Ok(())
    }

    fn flows(&mut self, rows: &Frame) -> Result<(), Trouble> {
        let (track_ids, times) = (rows.required_i64("track_id")?, rows.required_i64("ts_ns")?);
        let (phases, categories) = (rows.text("phase")?, rows.text("category")?);
        let (names, numbers, texts) = (rows.text("name")?, rows.i64("flow_id")?, rows.text("flow_text")?);
        let tracks = self.tracks;
        for row in 0..rows.rows() {
            let Some(track) = tracks.by_id.get(&track_ids[row]) else { continue };
            let phase = match phases[row].as_deref() {
                Some("s") => Phase::FlowStart,
                Some("t") => Phase::FlowStep,
                _ => Phase::FlowEnd,
            };
            let number = numbers[row].map(JsonValue::Int);
            let name = names[row].as_deref().unwrap_or_default();
            self.event(&ChromeEvent {
                category: categories[row].as_deref(),
                id: number.or_else(|| texts[row].as_deref().map(JsonValue::Text)),
                ..bare(track, phase, name, times[row] - self.base_ns)
            })?;
        }
        Ok(())
    }

    fn memory(&mut self, rows: &Frame) -> Result<(), Trouble> {
        let (track_ids, times) = (rows.required_i64("track_id")?, rows.required_i64("ts_ns")?);
        let columns = [
            ("Bytes", "size_bytes"),
            ("Addr", "address"),
            ("Device Type", "device_type"),
            ("Device Id", "device_id"),
            ("Total Allocated", "total_allocated_bytes"),
            ("Total Reserved", "total_reserved_bytes"),
            ("Ev Idx", "event_index"),
        ];
        let columns = columns.map(|(key, column)| Ok::<_, RunError>((key, rows.i64(column)?)));
        let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
        let rest = rows.text("args")?;
        let tracks = self.tracks;
        for row in 0..rows.rows() {
            let Some(track) = tracks.by_id.get(&track_ids[row]) else { continue };
            let args = columns.iter().filter_map(|(key, values)| Some((*key, JsonValue::Int(values[row]?))));
            let args: Vec<(&str, JsonValue<'_>)> = args.collect();
            self.event(&ChromeEvent {
                category: Some("cpu_instant_event"),
                args: &args,
                more_args: rest[row].as_deref(),
                ..bare(track, Phase::Instant, "[memory]", times[row] - self.base_ns)
            })?;
        }
        Ok(())
    }

    fn counters(&mut self, rows: &Frame) -> Result<(), Trouble> {
        let (track_ids, times) = (rows.required_i64("track_id")?, rows.required_i64("ts_ns")?);
        let (names, series) = (rows.text("name")?, rows.text("series")?);
        let (values, rest) = (rows.f64("value")?, rows.text("args")?);
        let tracks = self.tracks;
        for row in 0..rows.rows() {
            let Some(track) = tracks.by_id.get(&track_ids[row]) else { continue };
            let args: Vec<(&str, JsonValue<'_>)> =
                series[row].as_deref().zip(values[row].map(JsonValue::Float)).into_iter().collect();
            let name = names[row].as_deref().unwrap_or_default();
            self.event(&ChromeEvent {
                args: &args,
                more_args: rest[row].as_deref(),
                ..bare(track, Phase::Counter, name, times[row] - self.base_ns)
            })?;
        }
        Ok(())
    }
}

/// The values of one argument.
enum Values {
    Ints(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Jsons(Vec<Option<String>>),
}

impl Values {
    fn get(&self, row: usize) -> Option<JsonValue<'_>> {
        match self {
            Self::Ints(values) => values[row].map(JsonValue::Int),
            Self::Floats(values) => values[row].map(JsonValue::Float),
            Self::Texts(values) => values[row].as_deref().map(JsonValue::Text),
            Self::Jsons(values) => values[row].as_deref().map(JsonValue::Json),
        }
    }
}
