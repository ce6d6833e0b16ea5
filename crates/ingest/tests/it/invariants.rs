//! What holds for any input of the ingest, valid or not. The fuzz targets in `fuzz/` check the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stepscope_formats::FormatError;
use stepscope_ingest::{IngestError, Ingested, Options, Progress, ingest};
use stepscope_model::tables::{
    COUNTERS, FLOWS, FUNCTION_CALLS, FUNCTIONS, HEALTH, INGEST_WARNINGS, MEMORY_EVENTS, SPANS, STEPS, TRACKS,
};
use stepscope_model::warning::is_loss;
use stepscope_model::{SourceRecord, Table};
use stepscope_store::Store;

/// Warnings of one code that have a row of their own.
const ROWS_PER_CODE: u64 = 1000;

/// Panics if the ingest breaks a promise on `bytes`.
pub(crate) fn check_ingest(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    fs::write(&trace, bytes).unwrap();
    let roots = [folder.path().join("a"), folder.path().join("b")];
    // Once with much memory and once without any: what a store holds does not depend on it.
    let record = ingest_into(&roots[0], &trace, 2 << 30);
    assert_eq!(ingest_into(&roots[1], &trace, 0), record, "ingested twice");
    let Some(record) = record else { return };
    assert_eq!(contents(&roots[0]), contents(&roots[1]), "ingested twice");
    Checked::new(Store::open(&roots[0]).unwrap(), record).all();
}

/// Ingests a trace into a new store; `None` if it is not a trace.
pub(crate) fn ingest_into(root: &Path, trace: &Path, memory_limit_bytes: u64) -> Option<SourceRecord> {
    let store = Store::create(root).unwrap();
    // The full table of names takes longer to compile than a small trace to ingest.
    let options =
        Options { communication_names: "nccl\n!ncclNot".to_owned(), memory_limit_bytes, ..Options::default() };
    match ingest(&[trace.to_owned()], &store, &options, &Silent) {
        Ok(outcome) => {
            let sources = outcome.sources;
            let [Ingested { record, .. }] = &sources[..] else { panic!("one file became {} sources", sources.len()) };
            let stored = store.sources(&record.run).unwrap();
            assert_eq!(stored, std::slice::from_ref(record), "the record in the store");
            Some(record.clone())
        }
        Err(IngestError::Format { source: FormatError::Io(error), .. }) => panic!("{error}"),
        Err(IngestError::Format { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The rows of a table of a run; `None` if it has none.
pub(crate) fn read_table(store: &Store, run: &str, table: &'static Table) -> Option<RecordBatch> {
    let read = |file: &PathBuf| ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap().build();
    let files = store.table_files(run, table).unwrap();
    let batches: Vec<RecordBatch> = files.iter().flat_map(|file| read(file).unwrap()).map(Result::unwrap).collect();
    batches.first().map(|first| concat_batches(&first.schema(), &batches).unwrap())
}

/// Every file below `root`, and its bytes.
pub(crate) fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// A source that is being checked.
struct Checked {
    store: Store,
    record: SourceRecord,
    spans: Vec<Span>,
    tracks: usize,
    /// Places of the events in the file that have a row.
    positions: BTreeSet<i64>,
}

/// A row of `spans`, as far as it is checked.
struct Span {
    track: i64,
    start: i64,
    end: i64,
    kind: String,
    depth: i64,
    step: Option<i64>,
    correlation: Option<i64>,
}

impl Span {
    fn is_host(&self) -> bool {
        ["op", "ann", "rt"].contains(&self.kind.as_str())
    }

    fn is_device(&self) -> bool {
        ["kernel", "memcpy", "memset"].contains(&self.kind.as_str())
    }

    fn holds(&self, other: &Self) -> bool {
        self.track == other.track && self.start <= other.start && other.end <= self.end
    }
}

impl Checked {
    fn new(store: Store, record: SourceRecord) -> Self {
        Self { store, record, spans: Vec::new(), tracks: 0, positions: BTreeSet::new() }
    }

    fn all(&mut self) {
        self.accounting();
        self.tracks = self.rows(&TRACKS).len;
        self.spans();
        self.links();
        self.other_events();
        self.functions();
        self.tracks();
        self.steps();
        self.warnings();
        self.health();
        assert_eq!(self.positions.len() as u64, self.record.event_rows(), "an element has one row");
    }

    fn accounting(&self) {
        let dropped: u64 = self.record.dropped.values().sum();
        let rows = self.record.event_rows();
        assert_eq!(self.record.events_in, rows + dropped, "rows {rows}, dropped {:?}", self.record.dropped);
        let counted: u64 = self.record.events_by_phase_and_category.values().sum();
        assert!(counted <= self.record.events_in && self.record.lost_events() <= dropped);
    }

    fn rows(&self, table: &'static Table) -> Rows {
        let batch = read_table(&self.store, &self.record.run, table);
        let len = batch.as_ref().map_or(0, RecordBatch::num_rows);
        assert_eq!(len as u64, self.record.rows.of(table), "rows of {}", table.name);
        let rows = Rows { table, batch, len };
        for (column, id) in [("rank", self.record.id.rank), ("window", self.record.id.window)] {
            assert!(rows.ints(column).iter().all(|&value| value == Some(i64::from(id))), "{column}");
        }
        rows
    }

    /// An event row: its place in the file, its track.
    fn place(&mut self, rows: &Rows) {
        for position in rows.required("position") {
            assert!((0..self.record.events_in as i64).contains(&position), "position {position}");
            assert!(self.positions.insert(position), "position {position} has two rows");
        }
        for track in rows.required("track_id") {
            assert!((0..self.tracks as i64).contains(&track), "track {track}");
        }
        if rows.table.columns().any(|column| column.name == "args") {
            for args in rows.texts("args").iter().flatten() {
                check_json(args);
            }
        }
    }

    fn spans(&mut self) {
        let rows = self.rows(&SPANS);
        self.place(&rows);
        assert!(rows.required("span_id").into_iter().eq(0..rows.len as i64), "spans are numbered");
        let (tracks, starts, durs) = (rows.required("track_id"), rows.required("start_ns"), rows.required("dur_ns"));
        let (depths, self_ns, steps) = (rows.required("depth"), rows.required("self_ns"), rows.ints("step"));
        let (kinds, flags, correlations) = (rows.texts("kind"), rows.texts("flag"), rows.ints("correlation"));
        for (id, kind) in kinds.into_iter().enumerate() {
            let (start, dur) = (starts[id], durs[id]);
            assert!(dur >= 0, "span {id} is {dur} long");
            assert!((0..=dur).contains(&self_ns[id]), "span {id} is {dur} long, {} of it its own", self_ns[id]);
            assert!(flags[id].as_deref() != Some("instant") || dur == 0, "instant {id} is {dur} long");
            self.spans.push(Span {
                track: tracks[id],
                start,
                end: start.checked_add(dur).expect("the end is in range"),
                kind: kind.expect("a kind"),
                depth: depths[id],
                step: steps[id],
                correlation: correlations[id],
            });
        }
        let keys: Vec<_> = self.spans.iter().map(|span| (span.track, span.start)).collect();
        assert!(keys.is_sorted(), "spans are sorted by track and start");
        let longest_first = |pair: &[Span]| {
            (pair[0].track, pair[0].start) != (pair[1].track, pair[1].start) || pair[0].end >= pair[1].end
        };
        assert!(self.spans.windows(2).all(longest_first), "spans are sorted, longest first");
    }

    fn links(&self) {
        let rows = self.rows(&SPANS);
        let kind_of = |id: i64| self.spans.get(id as usize).expect("the id of a span").kind.as_str();
        // Column, kinds that it points at, kinds that have it.
        let ids: [(&str, &[&str], &[&str]); 8] = [
            ("parent_op_id", &["op"], &["op", "ann", "rt"]),
            ("python_parent_id", &["py"], &["py", "op", "rt", "ann"]),
            ("module_id", &["py"], &["py", "op", "rt", "ann", "kernel", "memcpy", "memset"]),
            ("launch_id", &["rt"], &["kernel", "memcpy", "memset"]),
            ("owner_id", &["op", "ann"], &["kernel", "memcpy", "memset"]),
            ("operator_id", &["op"], &["kernel", "memcpy", "memset"]),
            ("forward_id", &["op"], &["op"]),
            ("parent_id", &[], &[]),
        ];
        for (column, targets, holders) in ids {
            for (id, target) in rows.ints(column).into_iter().enumerate() {
                let Some(target) = target else { continue };
                let (kind, target_kind) = (self.spans[id].kind.as_str(), kind_of(target));
                let is_right = column == "parent_id" || (targets.contains(&target_kind) && holders.contains(&kind));
                assert!(is_right, "{column} of {kind} {id} is {target_kind} {target}");
                assert_ne!(target, id as i64, "{column} of {kind} {id}");
            }
        }
        let columns = ["parent_id", "parent_op_id", "python_parent_id", "launch_id", "owner_id", "operator_id"];
        let [parents, parent_ops, frames, launches, owners, operators] = columns.map(|column| rows.ints(column));
        let (graphs, graph_nodes) = (rows.ints("graph_launch"), rows.ints("graph_node"));
        let [links, comm_rules, forward_rules] = ["link", "comm_rule", "forward_rule"].map(|column| rows.texts(column));
        let forward = rows.ints("forward_id");
        for (id, span) in self.spans.iter().enumerate() {
            self.nesting(id, parents[id]);
            for enclosing in [parents[id], parent_ops[id]].into_iter().flatten() {
                assert!(self.spans[enclosing as usize].holds(span), "span {id} is inside {enclosing}");
            }
            if let Some(frame) = frames[id] {
                let frame = &self.spans[frame as usize];
                assert!(frame.track == span.track && frame.start <= span.start, "span {id} starts inside its frame");
            }
            assert_eq!(links[id].is_some(), span.is_device(), "link of {id}");
            assert_eq!(forward[id].is_some(), forward_rules[id].is_some(), "forward of {id}");
            assert!(comm_rules[id].is_none() || span.kind == "kernel", "communication {id}");
            assert_eq!(graphs[id].is_some(), graph_nodes[id].is_some(), "graph of {id}");
            assert!(graphs[id].is_none() || launches[id].is_some(), "graph of {id}");
            assert!(operators[id].is_none() || owners[id].is_some(), "operator of {id}");
            let expected: &[&str] = match (owners[id], launches[id]) {
                _ if !span.is_device() => continue,
                (Some(_), Some(_)) => &["external_id", "nesting"],
                (Some(_), None) => &["external_id"],
                (None, Some(_)) => &["launch_outside_any_span"],
                (None, None) => &["no_launch_call"],
            };
            assert!(expected.contains(&links[id].as_deref().unwrap_or_default()), "link of {id}: {:?}", links[id]);
            if let Some(launch) = launches[id] {
                assert_eq!(span.correlation, self.spans[launch as usize].correlation, "correlation of {id}, {launch}");
            }
        }
    }

    fn nesting(&self, id: usize, parent: Option<i64>) {
        let span = &self.spans[id];
        let depth = parent.map_or(0, |parent| {
            let parent = &self.spans[parent as usize];
            let is_family = if span.is_host() { parent.is_host() } else { parent.kind == span.kind };
            assert!(is_family, "the parent of {} {id} is {}", span.kind, parent.kind);
            parent.depth + 1
        });
        assert_eq!(span.depth, depth, "depth of {id}");
        assert!(parent.is_none() || !span.is_device(), "device event {id} nests");
    }

    fn other_events(&mut self) {
        for (table, column) in [(&FLOWS, Some("span_id")), (&MEMORY_EVENTS, Some("operator_id")), (&COUNTERS, None)] {
            let rows = self.rows(table);
            self.place(&rows);
            let Some(column) = column else { continue };
            let (tracks, times) = (rows.required("track_id"), rows.ints("ts_ns"));
            for (row, id) in rows.ints(column).into_iter().enumerate() {
                let Some(id) = id else { continue };
                let span = self.spans.get(id as usize).expect("the id of a span");
                let is_around =
                    span.track == tracks[row] && times[row].is_some_and(|time| (span.start..span.end).contains(&time));
                assert!(is_around, "{column} {id} of {} {row}", table.name);
                assert!(column == "span_id" || span.kind == "op", "operator {id} is {}", span.kind);
            }
        }
    }

    fn functions(&mut self) {
        let functions = self.rows(&FUNCTIONS).required("position");
        assert!(functions.is_sorted(), "functions are in the order of the file");
        for position in self.rows(&FUNCTION_CALLS).required("position") {
            assert!(functions.binary_search(&position).is_ok(), "a call of function {position}, which has no row");
        }
        for position in functions {
            assert!((0..self.record.events_in as i64).contains(&position), "position {position}");
            assert!(self.positions.insert(position), "position {position} has two rows");
        }
    }

    fn tracks(&self) {
        let rows = self.rows(&TRACKS);
        assert!(rows.required("track_id").into_iter().eq(0..rows.len as i64), "tracks are numbered");
        let (first, last) = (rows.ints("first_ns"), rows.ints("last_ns"));
        for (track, spans) in rows.required("spans").into_iter().enumerate() {
            let on_track = || self.spans.iter().filter(|span| span.track == track as i64);
            assert_eq!(on_track().count() as i64, spans, "spans of track {track}");
            assert_eq!(first[track].is_some(), last[track].is_some(), "times of track {track}");
            for span in on_track() {
                assert!(first[track] <= Some(span.start) && Some(span.end) <= last[track], "times of track {track}");
            }
        }
    }

    fn steps(&self) {
        let rows = self.rows(&STEPS);
        assert!(rows.required("step").into_iter().eq(0..rows.len as i64), "steps are numbered");
        let (starts, ends, device_events) =
            (rows.required("start_ns"), rows.required("end_ns"), rows.required("device_events"));
        for (step, dur) in rows.required("dur_ns").into_iter().enumerate() {
            assert!(dur >= 0 && ends[step] - starts[step] == dur, "length of step {step}");
            let launched = self.spans.iter().filter(|span| span.is_device() && span.step == Some(step as i64)).count();
            assert_eq!(device_events[step], launched as i64, "device events of step {step}");
        }
        assert!(rows.required("host_dur_ns").into_iter().all(|dur| dur >= 0), "lengths of marks");
        assert!(starts.is_sorted(), "steps are in order");
        let has_device_work = device_events.iter().any(|&events| events > 0);
        let overlaps = (1..rows.len).filter(|&step| starts[step] < ends[step - 1]).count() as i64;
        let allowed = if has_device_work { 0 } else { self.figure("overlapping_steps") };
        assert!(overlaps <= allowed, "{overlaps} steps overlap");
        for (id, step) in self.spans.iter().enumerate().filter_map(|(id, span)| Some((id, span.step?))) {
            assert!((0..rows.len as i64).contains(&step), "step {step} of span {id}");
        }
    }

    fn warnings(&self) {
        let rows = self.rows(&INGEST_WARNINGS);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let losses = rows.ints("is_loss");
        for (row, code) in rows.texts("code").into_iter().enumerate() {
            let code = code.expect("a code");
            assert_eq!(losses[row], Some(i64::from(is_loss(&code))), "{code}");
            *counts.entry(code).or_default() += 1;
        }
        for position in rows.ints("position").into_iter().flatten() {
            assert!((0..self.record.events_in as i64).contains(&position), "position {position}");
        }
        let lost = self.record.dropped.iter().filter(|(code, _)| is_loss(code));
        for (code, &count) in lost {
            assert_eq!(counts.get(code), Some(&count.min(ROWS_PER_CODE)), "rows of {code}");
        }
    }

    fn health(&self) {
        let rows = self.rows(&HEALTH);
        let names: BTreeSet<String> = rows.texts("name").into_iter().flatten().collect();
        assert_eq!(names.len(), rows.len, "figures have different names");
        let (values, ratios, texts, reasons) =
            (rows.ints("value"), rows.floats("ratio"), rows.texts("text"), rows.texts("reason"));
        for row in 0..rows.len {
            let is_set = [values[row].is_some(), ratios[row].is_some(), texts[row].is_some(), reasons[row].is_some()];
            assert_eq!(is_set.into_iter().filter(|&is_set| is_set).count(), 1, "figure {row}");
            assert!(values[row].is_none_or(|value| value >= 0), "figure {row} is {:?}", values[row]);
            assert!(ratios[row].is_none_or(|ratio| (0.0..=1.0).contains(&ratio)), "figure {row} is {:?}", ratios[row]);
        }
        assert_eq!(self.figure("lost_events") as u64, self.record.lost_events(), "lost events");
        let device_events = self.spans.iter().filter(|span| span.is_device()).count();
        assert_eq!(self.figure("device_events"), device_events as i64, "device events");
    }

    fn figure(&self, name: &str) -> i64 {
        let rows = self.rows(&HEALTH);
        let row = rows.texts("name").iter().position(|known| known.as_deref() == Some(name));
        rows.ints("value")[row.expect("the figure is there")].expect("the figure is a count")
    }
}

/// The rows of a table.
struct Rows {
    table: &'static Table,
    batch: Option<RecordBatch>,
    len: usize,
}

impl Rows {
    fn column(&self, name: &str, data_type: &DataType) -> Option<arrow::array::ArrayRef> {
        assert!(self.table.columns().any(|column| column.name == name), "{} has no {name}", self.table.name);
        Some(cast(self.batch.as_ref()?.column_by_name(name).expect("the column is there"), data_type).unwrap())
    }

    fn ints(&self, name: &str) -> Vec<Option<i64>> {
        self.column(name, &DataType::Int64)
            .map_or_else(Vec::new, |column| column.as_primitive::<Int64Type>().iter().collect())
    }

    fn required(&self, name: &str) -> Vec<i64> {
        self.ints(name).into_iter().map(|value| value.unwrap_or_else(|| panic!("{name} is missing"))).collect()
    }

    fn floats(&self, name: &str) -> Vec<Option<f64>> {
        self.column(name, &DataType::Float64)
            .map_or_else(Vec::new, |column| column.as_primitive::<Float64Type>().iter().collect())
    }

    fn texts(&self, name: &str) -> Vec<Option<String>> {
        self.column(name, &DataType::Utf8).map_or_else(Vec::new, |column| {
            let column = column.as_string::<i32>();
            (0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row).to_owned())).collect()
        })
    }
}

fn check_json(text: &str) {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => assert!(value.is_object(), "arguments are an object: {text}"),
        // The grammar allows any exponent.
        Err(error) => assert!(error.to_string().starts_with("number out of range"), "{error}: {text}"),
    }
}

/// Says nothing and never stops.
pub(crate) struct Silent;

impl Progress for Silent {
    fn update(&self, _: &str, _: u64, _: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, message: &str) {
        panic!("a notice about one file: {message}");
    }
}
