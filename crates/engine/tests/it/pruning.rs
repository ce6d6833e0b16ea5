//! A query for some ranks reads the files of those ranks only.

use stepscope_model::tables::SPANS;
use stepscope_store::Store;

use crate::fixture::{Row, Value, ask, check, commit, open};

const RANKS: u32 = 40;

fn many_ranks() -> (tempfile::TempDir, stepscope_engine::Engine) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    for rank in 0..RANKS {
        let row = |at: i64| Row::from([("start_ns", Value::I(at)), ("dur_ns", Value::I(i64::from(rank)))]);
        commit(&store, rank, 0, &[(&SPANS, (0..10).map(row).collect())]);
    }
    let engine = open(&store);
    (folder, engine)
}

#[test]
fn files_of_other_ranks_are_not_read() {
    let (_folder, engine) = many_ranks();
    let plan = ask(&engine, "EXPLAIN ANALYZE SELECT sum(dur_ns) FROM spans WHERE rank = 7").unwrap().join("\n");
    assert!(plan.contains("1 total → 1 matched"), "{plan}");
    check(&engine, "SELECT sum(dur_ns) FROM spans WHERE rank = 7", &["70"]);
    check(
        &engine,
        "SELECT rank, sum(dur_ns) FROM spans WHERE rank IN (3, 39) GROUP BY rank ORDER BY rank",
        &["3|30", "39|390"],
    );
}

#[test]
fn all_ranks_are_read_once() {
    let (_folder, engine) = many_ranks();
    check(&engine, "SELECT count(*), count(DISTINCT rank), sum(dur_ns) FROM spans", &["400|40|7800"]);
    check(&engine, "SELECT union_length(start_ns, start_ns + dur_ns) FROM spans", &["48"]);
}
