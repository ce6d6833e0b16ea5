//! What is not a query, or not a good one, is refused in words that help.

use stepscope_engine::{Engine, EngineError};
use stepscope_model::Hint;

use crate::fixture::{ask, small_engine, small_store};

#[track_caller]
fn check_refused(engine: &Engine, sql: &str, want: &str) {
    match ask(engine, sql) {
        Err(error @ EngineError::NotAQuery { .. }) => {
            assert_eq!(error.to_string(), format!("found {want}, expected a query"), "{sql}");
            assert!(error.hint().unwrap().contains("SELECT"));
        }
        other => panic!("{other:?}: {sql}"),
    }
}

#[track_caller]
fn check_explained(engine: &Engine, sql: &str, want: &str, hint: &str) {
    let error = ask(engine, sql).unwrap_err();
    assert_eq!(error.to_string(), want, "{sql}");
    assert!(error.hint().unwrap().contains(hint), "{error:?}");
}

#[test]
fn writes_are_refused() {
    let (folder, engine) = small_engine();
    let file = folder.path().join("out.parquet");
    let file = file.display();
    check_refused(&engine, "CREATE TABLE t AS SELECT 1", "CREATE TABLE");
    check_refused(&engine, "CREATE VIEW v AS SELECT 1", "CREATE VIEW");
    check_refused(&engine, "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '/etc'", "CREATE EXTERNAL TABLE");
    check_refused(&engine, "DROP TABLE spans", "DROP TABLE");
    check_refused(&engine, "DROP VIEW device_events", "DROP VIEW");
    check_refused(&engine, "INSERT INTO spans (rank) VALUES (1)", "INSERT INTO");
    check_refused(&engine, "INSERT INTO missing VALUES (1)", "INSERT INTO");
    check_refused(&engine, "UPDATE spans SET rank = 1", "UPDATE");
    check_refused(&engine, "DELETE FROM spans", "DELETE FROM");
    check_refused(&engine, "TRUNCATE TABLE spans", "TRUNCATE TABLE");
    check_refused(&engine, &format!("COPY spans TO '{file}'"), "COPY");
    check_refused(&engine, &format!("COPY (SELECT 1) TO '{file}' STORED AS CSV"), "COPY");
    check_refused(&engine, &format!("EXPLAIN COPY spans TO '{file}'"), "COPY");
    check_refused(&engine, "EXPLAIN ANALYZE INSERT INTO spans (rank) VALUES (1)", "INSERT INTO");
    check_refused(&engine, "SET datafusion.execution.batch_size = 1", "SET");
    check_refused(&engine, "RESET datafusion.execution.batch_size", "RESET");
    check_refused(&engine, "PREPARE p AS SELECT 1", "PREPARE");
    check_refused(&engine, "BEGIN", "BEGIN");
    check_refused(&engine, "SELECT 1 AS x INTO t", "CreateMemoryTable");
    assert!(!folder.path().join("out.parquet").exists());
    assert_eq!(ask(&engine, "SELECT count(*) FROM spans").unwrap(), ["36"]);
}

#[test]
fn files_cannot_be_named() {
    let (folder, engine) = small_engine();
    let file = folder.path().join("runs/run/spans/bucket=0/0.0.parquet");
    assert!(file.is_file());
    for name in [format!("'{}'", file.display()), format!("\"{}\"", file.display()), "'stepscope://store/x'".to_owned()]
    {
        let error = ask(&engine, &format!("SELECT * FROM {name}")).unwrap_err();
        assert!(matches!(error, EngineError::Plan { .. } | EngineError::Syntax { .. }), "{error:?}");
    }
}

#[test]
fn mistakes_are_explained() {
    let (_folder, engine) = small_engine();
    let schema = "`stepscope schema` lists tables and columns";
    check_explained(
        &engine,
        "SELECT nam FROM spans",
        "cannot plan the query: no field named nam. Did you mean 'spans.name'?",
        schema,
    );
    check_explained(
        &engine,
        "SELECT count(*) FROM spans GROUP BY zzzzzzzzzzzz",
        "cannot plan the query: no field named zzzzzzzzzzzz.",
        schema,
    );
    check_explained(&engine, "SELECT * FROM span", "cannot plan the query: table 'span' not found", schema);
    check_explained(
        &engine,
        "SELECT union_lenth(start_ns, dur_ns) FROM spans",
        "cannot plan the query: invalid function 'union_lenth'. Did you mean 'union_length'?",
        schema,
    );
    check_explained(
        &engine,
        "SELEC 1",
        "cannot read the query: Expected: an SQL statement, found: SELEC at Line: 1, Column: 1",
        "SELECT",
    );
    check_explained(
        &engine,
        "",
        "cannot read the query: no SQL statements were provided in the query string",
        "SELECT",
    );
    check_explained(
        &engine,
        "SELECT 1; SELECT 2",
        "cannot read the query: the context currently only supports a single SQL statement",
        "SELECT",
    );
    let error = ask(&engine, "SELECT 1 / 0 FROM spans").unwrap_err();
    assert!(error.to_string().to_lowercase().contains("divide by zero"), "{error}");
    assert!(matches!(error, EngineError::Execution { .. }), "{error:?}");
}

#[test]
fn deep_queries_are_refused_and_do_not_crash() {
    let (_folder, engine) = small_engine();
    let sum = |terms: usize| format!("SELECT 1{} FROM spans LIMIT 1", " + rank".repeat(terms));
    let unions = |terms: usize| format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(terms));
    assert!(ask(&engine, &sum(390)).is_ok());
    assert!(ask(&engine, &unions(190)).is_ok());
    let parentheses = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let joins = format!("SELECT 1 FROM spans{}", " CROSS JOIN spans".repeat(300));
    let long = format!("SELECT 1{}", "+1".repeat(65_000));
    for sql in [sum(2_000), unions(2_000), parentheses, joins, long, sum(100_000)] {
        let error = ask(&engine, &sql).unwrap_err();
        assert!(matches!(error, EngineError::Syntax { .. }), "{error:?}");
    }
}

#[test]
fn a_missing_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = small_store(folder.path());
    let error = EngineError::from(store.catalog("other").unwrap_err());
    assert!(error.to_string().starts_with("found no run \"other\""), "{error}");
    assert_eq!(error.hint().unwrap(), "the store has run");
}
