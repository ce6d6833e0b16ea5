//! A small store whose numbers can be checked by hand, and a way to ask it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::Int32Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use stepscope_engine::{Engine, EngineError, EngineOptions, QueryOptions};
use stepscope_model::tables::{SPANS, TRACKS};
use stepscope_model::{ColumnType, Content, RankFrom, RowCounts, SourceId, SourceRecord, StepSource, Table, version};
use stepscope_store::{SourceWriter, Store, arrow_schema};
use tempfile::TempDir;

/// The one run of every store here.
pub(crate) const RUN: &str = "run";

/// A value of a row.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// An integer.
    I(i64),
    /// A text.
    T(&'static str),
}

/// Some columns of a row; the others are null, or 0 and empty where null is not allowed.
pub(crate) type Row = BTreeMap<&'static str, Value>;

/// Rows of a table.
pub(crate) fn batch(table: &Table, id: SourceId, rows: &[Row]) -> RecordBatch {
    let columns = table.columns().map(|column| -> ArrayRef {
        let source = match column.name {
            "rank" => Some(i64::from(id.rank)),
            "window" => Some(i64::from(id.window)),
            _ => None,
        };
        let integers = rows.iter().map(|row| match row.get(column.name) {
            Some(Value::I(value)) => Some(*value),
            _ => source.or((!column.nullable).then_some(0)),
        });
        match column.column_type {
            ColumnType::I32 => Arc::new(integers.map(|value| value.map(|v| v as i32)).collect::<Int32Array>()),
            ColumnType::I64 => Arc::new(integers.collect::<Int64Array>()),
            ColumnType::F64 => Arc::new(integers.map(|value| value.map(|v| v as f64)).collect::<Float64Array>()),
            ColumnType::Bool => Arc::new(integers.map(|value| value.map(|v| v != 0)).collect::<BooleanArray>()),
            ColumnType::Text => {
                let texts = rows.iter().map(|row| match row.get(column.name) {
                    Some(Value::T(text)) => Some(*text),
                    _ => (!column.nullable).then_some(""),
                });
                Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
            }
        }
    });
    RecordBatch::try_new(arrow_schema(table), columns.collect()).unwrap()
}

/// A row of `spans`; the columns behind `more` are derived ones.
fn span(place: [i64; 5], words: [&'static str; 2], more: &[(&'static str, Value)]) -> Row {
    let [id, track, start, dur, own] = place;
    let numbers = [("span_id", id), ("track_id", track), ("start_ns", start), ("dur_ns", dur), ("self_ns", own)];
    let mut row: Row = numbers.into_iter().map(|(name, value)| (name, Value::I(value))).collect();
    row.extend([("kind", Value::T(words[0])), ("name", Value::T(words[1])), ("phase", Value::T("X"))]);
    row.extend(more.iter().copied());
    row
}

/// One operator inside another, a copy and two kernels that they launch, and what must not be counted.
fn spans(shift: i64) -> Vec<Row> {
    use Value::{I, T};
    let mut rows = vec![
        span([0, 0, 0, 100, 70], ["op", "aten::linear"], &[("step", I(0))]),
        span([1, 0, 10, 20, 10], ["op", "aten::mm"], &[("step", I(0)), ("parent_op_id", I(0)), ("depth", I(1))]),
        span([2, 0, 15, 10, 10], ["rt", "cudaLaunchKernel"], &[("parent_op_id", I(1)), ("correlation", I(1))]),
        span([3, 0, 50, 10, 10], ["rt", "cudaMemcpyAsync"], &[("parent_op_id", I(0)), ("correlation", I(2))]),
        span([4, 0, 200, 50, 45], ["ann", "nccl:all_reduce"], &[]),
        span([5, 0, 210, 5, 5], ["rt", "cudaLaunchKernel"], &[("correlation", I(3))]),
        span([6, 0, 260, 7, 7], ["op", "not complete"], &[("phase", T("B"))]),
        span(
            [7, 1, 40, 30, 30],
            ["kernel", "gemm"],
            &[("launch_id", I(2)), ("owner_id", I(1)), ("operator_id", I(1)), ("link", T("external_id"))],
        ),
        span([8, 1, 60, 20, 20], ["memcpy", "HtoD"], &[("launch_id", I(3)), ("owner_id", I(0)), ("operator_id", I(0))]),
        span(
            [9, 1, 70, 50, 50],
            ["kernel", "ncclKernel"],
            &[("launch_id", I(5)), ("owner_id", I(4)), ("comm_rule", T("name"))],
        ),
        span([10, 1, 300, 0, 0], ["kernel", "lost"], &[("link", T("no_launch_call"))]),
        span([11, 1, 310, 4, 4], ["kernel", "gemm"], &[]),
    ];
    rows[10].remove("name");
    for row in &mut rows {
        if let Some(I(start)) = row.get_mut("start_ns") {
            *start += shift;
        }
    }
    rows
}

fn tracks() -> Vec<Row> {
    use Value::{I, T};
    vec![
        Row::from([("track_id", I(0)), ("type", T("thread")), ("thread_name", T("main"))]),
        Row::from([("track_id", I(1)), ("type", T("stream")), ("thread_name", T("stream 7")), ("stream_id", I(7))]),
    ]
}

/// Commits a source with rows of some tables.
pub(crate) fn commit(store: &Store, rank: u32, window: u32, tables: &[(&'static Table, Vec<Row>)]) {
    let id = SourceId { rank, window };
    let mut source = SourceWriter::begin(store, RUN, id).unwrap();
    for (table, rows) in tables {
        source.table(table).unwrap().write(&batch(table, id, rows)).unwrap();
    }
    source.commit(record()).unwrap();
}

/// A store of three sources: rank 0 twice, rank 5 once. They are alike but for the time.
pub(crate) fn small_store(root: &Path) -> Store {
    let store = Store::create(root).unwrap();
    for (rank, window, shift) in [(0, 0, 0), (0, 1, 1_000), (5, 0, 2_000)] {
        commit(&store, rank, window, &[(&SPANS, spans(shift)), (&TRACKS, tracks())]);
    }
    store
}

/// An engine over [`small_store`], with the folder that it lives in.
pub(crate) fn small_engine() -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&small_store(folder.path()));
    (folder, engine)
}

/// An engine with two threads.
pub(crate) fn open(store: &Store) -> Engine {
    let options = EngineOptions { memory_limit_bytes: 256 << 20, threads: 2, spill_dir: None };
    Engine::open(&store.catalog(RUN).unwrap(), &options).unwrap()
}

/// The rows of an answer, one text each, with `|` between the values.
pub(crate) fn ask(engine: &Engine, sql: &str) -> Result<Vec<String>, EngineError> {
    let result = engine.query(sql, &QueryOptions::default())?;
    let options = FormatOptions::new().with_null("null");
    let mut rows = Vec::new();
    for batch in &result.batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(cells.join("|"));
        }
    }
    Ok(rows)
}

/// Asks and compares.
#[track_caller]
pub(crate) fn check(engine: &Engine, sql: &str, want: &[&str]) {
    match ask(engine, sql) {
        Ok(rows) => assert_eq!(rows, want, "{sql}"),
        Err(error) => panic!("{error}: {sql}"),
    }
}

fn record() -> SourceRecord {
    SourceRecord {
        schema_version: version::SCHEMA_VERSION,
        derivation_version: version::DERIVATION_VERSION,
        stepscope: String::new(),
        run: String::new(),
        id: SourceId { rank: 0, window: 0 },
        rank_from: RankFrom::Order,
        path: String::new(),
        digest: String::new(),
        format: String::new(),
        content: Content::Events,
        bytes_in: 0,
        bytes_plain: 0,
        bytes_out: 0,
        events_in: 0,
        rows: RowCounts::default(),
        dropped: BTreeMap::new(),
        warnings: BTreeMap::new(),
        notes: Vec::new(),
        events_by_phase_and_category: BTreeMap::new(),
        trace_schema_version: serde_json::Value::Null,
        base_time_ns: 0,
        header_rank: serde_json::Value::Null,
        header_world_size: serde_json::Value::Null,
        header: std::collections::BTreeMap::new(),
        devices: None,
        clock_resolution_ns: 1,
        first_event_ns: None,
        last_event_ns: None,
        step_source: StepSource::None,
        process_id: None,
        run_id: None,
        apart_because: None,
        partitions: std::collections::BTreeMap::new(),
    }
}
