//! Rows, time and memory have limits, and a query can be ended from outside.

use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use stepscope_engine::{CancelFlag, Engine, EngineError, EngineOptions, Order, Pick, QueryOptions};
use stepscope_model::Hint;

use crate::fixture::{RUN, ask, small_engine, small_store};

/// A query that would take hours.
const ENDLESS: &str = "SELECT sum(a.value * b.value) FROM generate_series(1, 1000000) AS a
                       CROSS JOIN generate_series(1, 1000000) AS b";

#[test]
fn rows_are_cut_off_and_said_to_be() {
    let (_folder, engine) = small_engine();
    let ask = |sql: &str, max_rows, count_left_out| {
        let options = QueryOptions { max_rows: Some(max_rows), count_left_out, ..QueryOptions::default() };
        let result = engine.query(sql, &options).unwrap();
        (result.num_rows(), result.truncated, result.rows_left_out)
    };
    let sql = "SELECT * FROM spans";
    assert_eq!(ask(sql, 35, false), (35, true, None));
    assert_eq!(ask(sql, 35, true), (35, true, Some(1)));
    assert_eq!(ask(sql, 36, false), (36, false, Some(0)));
    assert_eq!(ask(sql, 37, true), (36, false, Some(0)));
    assert_eq!(ask(sql, 0, false), (0, true, None));
    assert_eq!(ask("SELECT * FROM steps", 0, false), (0, false, Some(0)));
    assert_eq!(
        ask("SELECT value FROM generate_series(1, 100000) ORDER BY value DESC", 10, true),
        (10, true, Some(99_990))
    );
    assert_eq!(ask("EXPLAIN SELECT 1", 1, false), (1, true, None));
}

#[test]
fn an_answer_can_be_read_in_parts() {
    let (_folder, engine) = small_engine();
    let mut stream = engine.stream("SELECT value FROM generate_series(1, 100000)", &QueryOptions::default()).unwrap();
    assert_eq!(stream.schema().field(0).name(), "value");
    let rows: usize = stream.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!((rows, stream.truncated(), stream.rows_left_out()), (100_000, false, Some(0)));
}

#[test]
fn rows_are_sorted_and_columns_picked_while_they_are_made() {
    let (_folder, engine) = small_engine();
    let sql = "SELECT value % 3 AS a, CASE WHEN value > 4 THEN NULL ELSE value END AS b FROM generate_series(1, 6)";
    let ask = |pick: Pick, max_rows| {
        let options = QueryOptions { pick, max_rows, ..QueryOptions::default() };
        let batches = engine.stream(sql, &options).unwrap();
        let rows = batches.flat_map(|batch| {
            let batch = batch.unwrap();
            let cell = |column: &arrow::array::ArrayRef, row| {
                if column.is_null(row) {
                    "–".to_owned()
                } else {
                    column.as_primitive::<Int64Type>().value(row).to_string()
                }
            };
            let row = |row| batch.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(" ");
            (0..batch.num_rows()).map(row).collect::<Vec<_>>()
        });
        rows.collect::<Vec<String>>().join(", ")
    };
    let order = |column, is_descending| Pick { order: Some(Order { column, is_descending }), ..Pick::default() };
    // Ties are settled by the other column; what is missing comes last either way.
    assert_eq!(ask(order(0, false), None), "0 3, 0 –, 1 1, 1 4, 2 2, 2 –");
    assert_eq!(ask(order(1, true), None), "1 4, 0 3, 2 2, 1 1, 0 –, 2 –");
    assert_eq!(ask(order(1, true), Some(2)), "1 4, 0 3");
    assert_eq!(ask(Pick { columns: vec![1], ..order(0, false) }, Some(3)), "3, –, 1");
    let options = QueryOptions::default();
    assert_eq!(engine.column_names(sql, &options).unwrap(), ["a", "b"]);
    assert_eq!(engine.count_rows(sql, &options).unwrap(), Some(6));
    assert_eq!(engine.count_rows("EXPLAIN SELECT 1", &options).unwrap(), None);
    let joined = "SELECT * FROM generate_series(1, 2) AS a CROSS JOIN generate_series(1, 2) AS b";
    let both = QueryOptions { pick: order(1, true), ..QueryOptions::default() };
    assert_eq!(engine.query(joined, &both).unwrap().num_rows(), 4);
    assert!(matches!(engine.query("EXPLAIN SELECT 1", &both), Err(EngineError::Plan { .. })));
}

#[test]
fn time_runs_out() {
    let (_folder, engine) = small_engine();
    let started = Instant::now();
    let options = QueryOptions { time_limit: Some(Duration::from_millis(200)), ..QueryOptions::default() };
    let error = engine.query(ENDLESS, &options).unwrap_err();
    assert!(matches!(error, EngineError::TimedOut { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the query did not finish within 0.2 s");
    assert!(error.hint().is_some());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // The engine is still good, and dropping it does not wait for what may still run.
    assert_eq!(ask(&engine, "SELECT 1").unwrap(), ["1"]);
}

#[test]
fn a_query_is_canceled_from_another_thread() {
    let (_folder, engine) = small_engine();
    let cancel = CancelFlag::default();
    let options = QueryOptions { cancel: cancel.clone(), ..QueryOptions::default() };
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        Instant::now()
    });
    let error = engine.query(ENDLESS, &options).unwrap_err();
    let delay = other.join().unwrap().elapsed();
    assert!(matches!(error, EngineError::Canceled), "{error:?}");
    // 100 ms is the aim; a busy test machine gets some more.
    assert!(delay < Duration::from_secs(1), "{delay:?}");
    assert!(matches!(engine.query("SELECT 1", &options), Err(EngineError::Canceled)));
    options.cancel.reset();
    assert_eq!(engine.query("SELECT 1", &options).unwrap().num_rows(), 1);
}

#[test]
fn memory_runs_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = small_store(folder.path());
    let options = EngineOptions { memory_limit_bytes: 8 << 20, threads: 2, spill_dir: None };
    let engine = Engine::open(&store.catalog(RUN).unwrap(), &options).unwrap();
    for sql in [
        // A list cannot spill.
        "SELECT cardinality(array_agg(value)) FROM generate_series(1, 5000000)",
        // Neither can a union of intervals that never touch.
        "SELECT union_length(value * 2, value * 2 + 1) FROM generate_series(1, 5000000)",
        // The answer counts, too.
        "SELECT value, value + 1 FROM generate_series(1, 5000000)",
    ] {
        let error = ask(&engine, sql).unwrap_err();
        assert!(matches!(error, EngineError::OutOfMemory { .. }), "{error:?}: {sql}");
        let text = error.to_string();
        assert!(text.starts_with("the memory limit of 8 MiB is too small for "), "{text}");
        assert!(!text.contains("Resources") && !text.contains("consumer"), "{text}");
        assert!(error.hint().unwrap().contains("`--memory-limit 16MiB`"), "{:?}", error.hint());
    }
    assert_eq!(ask(&engine, "SELECT 1").unwrap(), ["1"]);
}
