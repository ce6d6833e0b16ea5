//! Rows that are written cell by cell, and what becomes of cells that do not fit.

use stepscope_model::SourceId;
use stepscope_model::tables::HEALTH;
use stepscope_store::{RowWriter, SourceWriter, Store, StoreError};

/// What is said about one row of `health`: a name, a count, a ratio, a text and a reason.
fn refusal(put: impl FnOnce(&mut RowWriter<()>)) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut source = SourceWriter::begin(&store, "run", SourceId { rank: 0, window: 0 }).unwrap();
    let mut rows = source.rows(&HEALTH, ()).unwrap();
    put(&mut rows);
    rows.end_row().and_then(|()| rows.finish()).err().map(|error: StoreError| error.to_string())
}

#[test]
fn a_cell_that_does_not_fit_its_column_is_an_error_and_never_null() {
    let check = |put: fn(&mut RowWriter<()>), want: Option<&str>| {
        let want = want.map(|reason| format!("rows do not fit the table health: {reason}"));
        assert_eq!(refusal(put), want);
    };
    check(
        |rows| {
            rows.word("spans").i64(7).null().null().null();
        },
        None,
    );
    check(
        |rows| {
            rows.text("spans").null().f64(0.5).text(None::<&str>).null();
        },
        None,
    );
    check(
        |rows| {
            rows.text("spans").i32(7).null().null().null();
        },
        Some("a cell of value is int32 instead of int64"),
    );
    // Also where there is no value.
    check(
        |rows| {
            rows.text("spans").i64(7).i64(None).null().null();
        },
        Some("a cell of ratio is int64 instead of float64"),
    );
    check(
        |rows| {
            rows.i64(7).null().null().null().null();
        },
        Some("a cell of name is int64 instead of text"),
    );
    check(
        |rows| {
            rows.text("spans").bool(true).word("a").null().null();
        },
        Some("a cell of value is bool instead of int64"),
    );
    check(
        |rows| {
            rows.text("spans").i64(7);
        },
        Some("a row has 2 cells instead of 5"),
    );
    check(
        |rows| {
            rows.text("spans").null().null().null().null().i64(7);
        },
        Some("a row has more cells than columns"),
    );
}

#[test]
fn a_column_that_must_have_a_value_has_one() {
    let said = refusal(|rows| {
        rows.null().i64(7).null().null().null();
    })
    .unwrap();
    assert!(said.contains("name"), "{said}");
}
