//! Tables whose rows are worked out: only those of the recordings that a query asks for.

use std::sync::{Arc, Mutex};

use stepscope_engine::Engine;
use stepscope_model::SourceId;
use stepscope_model::derived_tables::CRITICAL_PATH;
use stepscope_store::read_schema;

use crate::fixture::{Row, Value, ask, batch, check, small_engine};

/// Gives the table two rows for each of so many ranks, and notes which of them are worked out.
fn derive(engine: &Engine, ranks: u32) -> Arc<Mutex<Vec<u32>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&asked);
    let recordings = (0..ranks).map(|rank| SourceId { rank, window: 0 }).collect();
    let rows = move |id: SourceId| {
        note.lock().unwrap().push(id.rank);
        let row = |dur| Row::from([("dur_ns", Value::I(dur)), ("class", Value::T("kernel"))]);
        let written = batch(&CRITICAL_PATH, id, &[row(1), row(2)]);
        let schema = read_schema(&CRITICAL_PATH);
        let columns = written.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| arrow::compute::cast(column, field.data_type()));
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(arrow::array::RecordBatch::try_new(schema, columns)?)
    };
    engine.derive(&CRITICAL_PATH, recordings, Arc::new(rows)).unwrap();
    asked
}

#[test]
fn only_what_is_asked_for_is_worked_out() {
    let (_folder, engine) = small_engine();
    check(&engine, "SELECT count(*) FROM critical_path", &["0"]);
    let asked = derive(&engine, 64);
    let of = |condition: &str, want: &[&str], ranks: &[u32]| {
        check(&engine, &format!("SELECT rank, sum(dur_ns) FROM critical_path {condition} GROUP BY rank"), want);
        assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), ranks, "{condition}");
    };
    of("WHERE rank = 3", &["3|3"], &[3]);
    of("WHERE rank IN (5, 7) AND rank > 6 AND dur_ns = 2", &["7|2"], &[7]);
    of("AS path WHERE path.\"window\" = 0 AND path.rank + 1 = 2", &["1|3"], &[1]);
    of("WHERE \"window\" = 1", &[], &[]);
    check(&engine, "SELECT count(*), sum(dur_ns) FROM critical_path", &["128|192"]);
}

#[test]
fn too_many_recordings_are_refused_before_any_is_worked_out() {
    let (_folder, engine) = small_engine();
    let asked = derive(&engine, 65);
    let error = ask(&engine, "SELECT count(*) FROM critical_path").unwrap_err().to_string();
    let want = "critical_path has the rows of at most 64 recordings at a time, not of 65; add `WHERE rank = 0`";
    assert!(error.ends_with(want), "{error}");
    assert_eq!(*asked.lock().unwrap(), [0; 0]);
    check(&engine, "SELECT count(*) FROM critical_path WHERE rank < 64", &["128"]);
}
