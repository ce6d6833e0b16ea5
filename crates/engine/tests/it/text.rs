//! Text columns behave like text in SQL and come back as `Utf8`, whatever they are inside.

use arrow::datatypes::DataType;
use stepscope_engine::{Engine, EngineOptions, QueryOptions};

use crate::fixture::{ask, check, open, small_engine, small_store};

#[test]
fn texts_come_back_plain() {
    let (_folder, engine) = small_engine();
    let sql = "SELECT name, arrow_typeof(name), array_agg(kind), 'x', max(name) FROM spans GROUP BY name";
    let result = engine.query(sql, &QueryOptions::default()).unwrap();
    let types: Vec<_> = result.schema.fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types[0], DataType::Utf8);
    assert_eq!(types[2].to_string(), "List(Utf8)");
    assert_eq!(types[4], DataType::Utf8);
    assert_eq!(result.batches[0].schema(), result.schema);
}

#[test]
fn texts_can_be_grouped_compared_and_joined() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT kind, count(*) FROM spans GROUP BY kind ORDER BY kind",
        &["ann|3", "kernel|12", "memcpy|3", "op|9", "rt|9"],
    );
    check(&engine, "SELECT DISTINCT name FROM spans WHERE name LIKE 'cuda%Kernel'", &["cudaLaunchKernel"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name ILIKE '%NCCL%'", &["6"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name ~ '^aten::(mm|linear)$'", &["6"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name = 'gemm'", &["6"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name <> 'gemm'", &["27"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name IS NULL", &["3"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name IN ('gemm', 'HtoD')", &["9"]);
    check(&engine, "SELECT count(*) FROM spans WHERE name > 'gemm'", &["9"]);
    check(
        &engine,
        "SELECT count(*) FROM spans a JOIN spans b ON a.name = b.name WHERE a.rank = 5 AND b.rank = 5",
        &["15"],
    );
    check(&engine, "SELECT count(*) FROM spans JOIN (VALUES ('gemm'), ('x')) AS v(n) ON name = n", &["6"]);
    check(&engine, "SELECT upper(name) || '!' FROM spans WHERE kind = 'memcpy' LIMIT 1", &["HTOD!"]);
    check(
        &engine,
        "SELECT name FROM spans WHERE rank = 5 AND kind = 'op' ORDER BY name DESC",
        &["not complete", "aten::mm", "aten::linear"],
    );
}

#[test]
fn tables_without_rows_have_their_columns() {
    let (_folder, engine) = small_engine();
    check(&engine, "SELECT count(*), sum(value), min(name) FROM counters", &["0|null|null"]);
    check(&engine, "SELECT rank, is_complete FROM steps", &[]);
}

#[test]
fn an_engine_needs_no_run() {
    let engine = Engine::without_run(&EngineOptions::default()).unwrap();
    check(&engine, "SELECT count(*) FROM device_events", &["0"]);
    assert_eq!(engine.columns_of("ops_by_name").unwrap().len(), 8);
}

#[test]
fn the_catalog_can_be_asked() {
    let (_folder, engine) = small_engine();
    let tables = ask(&engine, "SHOW TABLES").unwrap();
    assert!(tables.iter().any(|row| row.contains("|spans|")), "{tables:?}");
    assert!(tables.iter().any(|row| row.contains("|device_events|")), "{tables:?}");
    assert_eq!(ask(&engine, "DESCRIBE tracks").unwrap()[0], "rank|Int32|NO");
    assert!(!ask(&engine, "EXPLAIN SELECT name FROM device_events").unwrap().is_empty());
    assert!(!ask(&engine, "EXPLAIN ANALYZE SELECT name FROM spans").unwrap().is_empty());
    check(&engine, "VALUES (1, 'a')", &["1|a"]);
    check(&engine, "WITH a AS (SELECT 1 AS x) SELECT x FROM a;", &["1"]);
}

#[test]
fn a_store_may_lie_in_a_folder_with_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a b%20[c]*?~ü#'\"");
    let engine = open(&small_store(&root));
    check(&engine, "SELECT count(*) FROM spans", &["36"]);
}
