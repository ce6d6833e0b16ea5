use stepscope_model::{Cell, Class, Hint, LeftOut, Look, Part, Report};
use stepscope_report::shape::{self, Shape, ShapeError};
use stepscope_report::{TextOptions, text};

use crate::data::{operators, report, table};

fn first_column(report: &Report) -> Vec<Cell> {
    let Part::Table(table) = &report.parts[0] else { panic!("not a table") };
    table.rows.iter().map(|row| row[0].clone()).collect()
}

#[track_caller]
fn check_sort(sort: &str, want: &[Cell]) {
    let rows = [Cell::Int(2), Cell::Null, Cell::Float(2.5), Cell::Int(-1)].map(|cell| vec![cell]).to_vec();
    let mut sorted = report(table(&["dur_ns"], rows));
    shape::apply(&mut sorted, &Shape { sort: Some(sort.into()), ..Shape::default() }).unwrap();
    assert_eq!(first_column(&sorted), want, "{sort}");
}

#[test]
fn sorting_puts_missing_values_last() {
    check_sort("dur_ns", &[Cell::Int(-1), Cell::Int(2), Cell::Float(2.5), Cell::Null]);
    check_sort("-dur", &[Cell::Float(2.5), Cell::Int(2), Cell::Int(-1), Cell::Null]); // Without the unit.
}

#[test]
fn a_table_may_have_orders_of_its_own() {
    #[track_caller]
    fn check(sort: &str, want: &str) {
        let row = |name: &str, calls: i64, position: i64| {
            vec![Cell::Text(name.to_owned()), Cell::Int(calls), Cell::Int(position)]
        };
        let rows = vec![row("b", 2, 2), row("c", 9, 0), row("a", 2, 1)];
        let mut table = table(&["name", "calls", "position"], rows);
        table.sort_keys = &[("calls", "-calls,position"), ("word", "name")];
        let mut sorted = report(table);
        shape::apply(&mut sorted, &Shape { sort: Some(sort.into()), ..Shape::default() }).unwrap();
        let Part::Table(table) = &sorted.parts[0] else { panic!("not a table") };
        let names = table.rows.iter().map(|row| if let Cell::Text(name) = &row[0] { name.as_str() } else { "" });
        let sorted_by = table.sorted_by.as_deref().unwrap_or_default();
        assert_eq!(format!("{} {sorted_by}", names.collect::<String>()), want, "{sort}");
    }
    check("calls", "cab -calls");
    // The largest comes first already.
    check("-calls", "cab -calls");
    check("word", "abc name");
    check("-word", "cba -name");
    check("position", "cab position");
    let mut table = operators();
    let Part::Table(rows) = &mut table.parts[0] else { panic!("not a table") };
    rows.sort_keys = &[("nfl", "name")];
    let error = shape::apply(&mut table, &Shape { sort: Some("nlf".into()), ..Shape::default() }).unwrap_err();
    assert!(error.hint().unwrap().ends_with("\norders: nfl"), "{error:?}");
}

#[test]
fn columns_and_limit() {
    let mut report = operators();
    let shape = Shape {
        columns: vec!["device_self".into(), "name".into()],
        sort: Some("calls".into()),
        limit: Some(1),
        ..Shape::default()
    };
    shape::apply(&mut report, &shape).unwrap();
    let Part::Table(table) = &report.parts[0] else { panic!("not a table") };
    assert_eq!(table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["device_self_ns", "name"]);
    assert_eq!(table.rows, [[Cell::Int(126_620_000), Cell::Text("aten::cudnn_convolution".into())]]);
    assert_eq!(table.left_out, LeftOut::Rows(2));
}

#[test]
fn the_bar_belongs_to_the_sorted_column() {
    let looks = |sort: &str| {
        let mut report = operators();
        let Part::Table(table) = &mut report.parts[0] else { panic!("not a table") };
        table.columns[2].look = Look::Bar(Some(Class::Kernel));
        shape::apply(&mut report, &Shape { sort: Some(sort.into()), ..Shape::default() }).unwrap();
        let Part::Table(table) = &report.parts[0] else { panic!("not a table") };
        let bars = table.columns.iter().filter(|column| matches!(column.look, Look::Bar(_)));
        bars.map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(looks("-calls"), ["calls"]);
    assert_eq!(looks("-device_self"), ["device_self_ns"]);
    assert_eq!(looks("name"), ["device_self_ns"]); // Names have no length.
}

#[test]
fn a_sum_has_the_unit_of_its_column() {
    let shown = |largest: i64| {
        let mut times = table(&["dur_ns"], vec![vec![Cell::Int(largest)], vec![Cell::Int(1_500)]]);
        times.total = Some(vec![Cell::Int(18_338_700)]);
        let text = text::render(&report(times), TextOptions::default());
        text.lines()
            .skip(1)
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.starts_with('─'))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(720_000), ["0.72 ms", "1.5 µs", "18.34 ms"]);
    assert_eq!(shown(42_000), ["42.0 µs", "1.5 µs", "18,338.7 µs"]); // Milliseconds would leave nothing of the rows.
}

#[test]
fn two_ends_stay_unless_somebody_asked_for_a_limit() {
    let shown = |is_usual_limit: bool| {
        let rows = (0..40).map(|rank| vec![Cell::Int(rank), Cell::Int((40 - rank) * 1_000_000)]).collect();
        let mut ranks = table(&["rank", "wait_ns"], rows);
        ranks.two_ended = Some("ranks");
        ranks.sorted_by = Some("-wait_ns".to_owned());
        let mut report = report(ranks);
        shape::apply(&mut report, &Shape { limit: Some(8), is_usual_limit, ..Shape::default() }).unwrap();
        text::render(&report, TextOptions::default())
    };
    insta::assert_snapshot!(shown(true), @r"
    rank    wait ↓
    0     40.00 ms
    1     39.00 ms
    2     38.00 ms
    3     37.00 ms
    … 34 ranks between 3.00 ms and 36.00 ms
    38     2.00 ms
    39     1.00 ms
    6 of 40 rows shown (--limit 0 shows all)
    ");
    assert!(shown(false).contains("8 of 40 rows shown"));
}

#[test]
fn an_unknown_column_names_the_nearest() {
    let error: ShapeError =
        shape::apply(&mut operators(), &Shape { sort: Some("device_selv_ns".into()), ..Shape::default() }).unwrap_err();
    assert_eq!(error.to_string(), "no column named device_selv_ns in test");
    assert_eq!(
        error.hint().unwrap(),
        "did you mean device_self_ns?\ncolumns: name, calls, device_self_ns, share_ratio, memory_bytes"
    );
}

#[test]
fn one_rank_of_many() {
    let rows = [0, 1, 1].map(|rank| vec![Cell::Int(rank)]).to_vec();
    let mut report = report(table(&["rank"], rows));
    shape::apply(&mut report, &Shape { only: vec![("rank", 1), ("window", 0)], ..Shape::default() }).unwrap();
    assert_eq!(first_column(&report), [Cell::Int(1), Cell::Int(1)]);
}

#[test]
fn sums_arrows_and_hidden_columns_follow() {
    let mut report = operators();
    let Part::Table(table) = &mut report.parts[0] else { panic!("not a table") };
    table.total = Some(vec![Cell::Text("3 operators".into()), Cell::Int(4_278), Cell::Int(9), Cell::Null, Cell::Null]);
    table.columns[4].look = Look::Hidden;
    table.columns[4].from_width = 120;
    table.sorted_by = Some("-device_self_ns".into());
    let shape =
        Shape { columns: vec!["memory".into(), "calls".into()], sort: Some("-calls".into()), ..Shape::default() };
    shape::apply(&mut report, &shape).unwrap();
    let Part::Table(table) = &report.parts[0] else { panic!("not a table") };
    assert_eq!(table.total, Some(vec![Cell::Null, Cell::Int(4_278)]));
    assert_eq!(table.sorted_by.as_deref(), Some("-calls"));
    assert_eq!((table.columns[0].look, table.columns[0].from_width), (Look::Value, 0));
}

#[test]
fn a_sum_over_rows_that_are_gone_goes_too() {
    let mut ranks = table(&["rank"], [0, 1].map(|rank| vec![Cell::Int(rank)]).to_vec());
    ranks.total = Some(vec![Cell::Text("all".into())]);
    let mut report = report(ranks);
    shape::apply(&mut report, &Shape { only: vec![("rank", 1)], ..Shape::default() }).unwrap();
    let Part::Table(table) = &report.parts[0] else { panic!("not a table") };
    assert_eq!(table.total, None);
}
