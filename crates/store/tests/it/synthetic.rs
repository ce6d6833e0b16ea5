//! Rows and records that are made up, the same ones each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::Int32Type;
use stepscope_model::{
    ColumnType, Content, Note, RankFrom, RowCounts, SourceId, SourceRecord, StepSource, Table, version,
};
use stepscope_store::pack::{Depth, PackName, write_pack_file};
use stepscope_store::{SourceWriter, Store, arrow_schema};

/// A name for a run.
pub(crate) const RUN: &str = "run";

/// Rows of any table: every third value of an optional column is missing, texts repeat.
pub(crate) fn rows(table: &Table, id: SourceId, first: usize, count: usize) -> RecordBatch {
    let columns = table.columns().enumerate().map(|(place, column)| -> ArrayRef {
        let value = |row: usize| (!column.nullable || !(row + place).is_multiple_of(3)).then_some(row + place);
        let values = (first..first + count).map(value);
        match (column.name, column.column_type) {
            ("rank", _) => Arc::new(Int32Array::from(vec![id.rank as i32; count])),
            ("window", _) => Arc::new(Int32Array::from(vec![id.window as i32; count])),
            (_, ColumnType::I32) => Arc::new(values.map(|value| value.map(|v| v as i32)).collect::<Int32Array>()),
            (_, ColumnType::I64) => {
                // Extremes must survive the delta encoding, whose differences wrap around.
                let spread = |v: usize| if v % 100 == 7 { i64::MIN } else { i64::MAX - v as i64 };
                Arc::new(values.map(|value| value.map(spread)).collect::<Int64Array>())
            }
            (_, ColumnType::F64) => {
                Arc::new(values.map(|value| value.map(|v| v as f64 / 8.0)).collect::<Float64Array>())
            }
            (_, ColumnType::Bool) => {
                Arc::new(values.map(|value| value.map(|v| v.is_multiple_of(2))).collect::<BooleanArray>())
            }
            (_, ColumnType::Text) => {
                let texts: Vec<_> = values.map(|value| value.map(|v| format!("text {} µ", v % 11))).collect();
                Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
            }
        }
    });
    RecordBatch::try_new(arrow_schema(table), columns.collect()).unwrap()
}

/// A record with nothing in it that a test looks at.
pub(crate) fn record() -> SourceRecord {
    SourceRecord {
        schema_version: version::SCHEMA_VERSION,
        derivation_version: version::DERIVATION_VERSION,
        stepscope: "0.1.0".to_owned(),
        run: String::new(),
        id: SourceId { rank: 0, window: 0 },
        rank_from: RankFrom::Header,
        path: "trace.json".to_owned(),
        digest: "0".repeat(32),
        format: "kineto".to_owned(),
        content: Content::Events,
        bytes_in: 1,
        bytes_plain: 2,
        bytes_out: 0,
        events_in: 3,
        rows: RowCounts::default(),
        dropped: BTreeMap::from([("metadata".to_owned(), 4)]),
        warnings: BTreeMap::new(),
        notes: vec![Note::GzipTruncated],
        events_by_phase_and_category: BTreeMap::from([("X|kernel".to_owned(), 5)]),
        trace_schema_version: serde_json::json!(1),
        base_time_ns: i64::MAX,
        header_rank: serde_json::Value::Null,
        header_world_size: serde_json::json!("8"),
        header: std::collections::BTreeMap::new(),
        devices: None,
        clock_resolution_ns: 1,
        first_event_ns: Some(i64::MIN),
        last_event_ns: None,
        step_source: StepSource::WholeTrace,
        process_id: None,
        run_id: None,
        apart_because: None,
        partitions: std::collections::BTreeMap::new(),
    }
}

/// Commits a source with some rows in the given tables.
pub(crate) fn commit(store: &Store, rank: u32, window: u32, tables: &[&'static Table], count: usize) -> SourceRecord {
    let id = SourceId { rank, window };
    let mut source = SourceWriter::begin(store, RUN, id).unwrap();
    for table in tables {
        source.table(table).unwrap().write(&rows(table, id, 0, count)).unwrap();
    }
    source.commit(record()).unwrap()
}

/// Writes every source of a store as a pack below another root.
pub(crate) fn pack_into(store: &Store, root: &Path) {
    for run in store.runs().unwrap() {
        for record in store.sources(&run).unwrap() {
            let path = root.join(PackName::of(&record, Depth::Full).object_key(&run));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_pack_file(store, &record, Depth::Full, &path.with_extension("tmp"), &path).unwrap();
        }
    }
}
