use stepscope_model::{Cell, LeftOut, Metric, Part, Report, ReportColumn, ReportTable, Unit};
use stepscope_report::text::{self, ColorMode, TextOptions};

use crate::data::{operators, report, table};

fn show(report: &Report, width: usize) -> String {
    text::render(report, TextOptions { width, ..TextOptions::default() })
}

#[test]
fn numbers_stand_right_with_one_unit_a_column() {
    insta::assert_snapshot!(show(&operators(), 80), @r"
    name                     calls  device self    share    memory
    aten::cudnn_convolution    318    126.62 ms   21.0 %  2.60 GiB
    aten::add_               2,994     24.10 ms    4.0 %     0 GiB
    aten::mul_                 966         0 ms  < 0.1 %         –
    ");
}

#[test]
fn names_give_way_before_numbers() {
    let long = "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int)";
    let report = report(table(
        &["name", "calls", "dur_ns"],
        vec![vec![Cell::Text(long.into()), Cell::Int(156), Cell::Int(66_470_000)]],
    ));
    let shown = show(&report, 60);
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
    insta::assert_snapshot!(shown, @r"
    name                                         calls       dur
    void cudnn::cnn::wgra…, 512>(int, int, int)    156  66.47 ms
    ");
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let names = ["name", "start_ns", "dur_ns", "bytes_in", "count", "correlation_id"];
    let row = vec![
        Cell::Text("aten::add".into()),
        Cell::Int(1_775_167_061_388_202_755),
        Cell::Int(12),
        Cell::Int(1 << 31),
        Cell::Int(77),
        Cell::Int(123_456),
    ];
    insta::assert_snapshot!(show(&report(table(&names, vec![row])), 60), @r"
    name                              start    dur  bytes in
    aten::add  1,775,167,061,388,202,755 ns  12 ns  2.00 GiB
    2 columns did not fit: count, correlation_id (--columns
    picks, -f csv has all)
    ");
}

#[test]
fn raw_values_are_left_alone() {
    let shown = text::render(&operators(), TextOptions { raw: true, ..TextOptions::default() });
    insta::assert_snapshot!(shown, @r"
    name                     calls  device_self_ns  share_ratio  memory_bytes
    aten::cudnn_convolution    318       126620000       0.2098    2791728742
    aten::add_                2994        24100000       0.0399             0
    aten::mul_                 966               0       0.0002             –
    ");
}

#[test]
fn rows_left_out_and_no_rows() {
    let mut rows = table(&["rank", "events"], vec![vec![Cell::Int(0), Cell::Int(14_245)]]);
    rows.left_out = LeftOut::Rows(1_234);
    insta::assert_snapshot!(show(&report(rows), 80), @r"
    rank  events
    0     14,245
    1 of 1,235 rows shown (--limit 0 shows all)
    ");
    insta::assert_snapshot!(show(&report(table(&["rank", "events"], vec![])), 80), @r"
    rank  events
    no rows
    ");
}

#[test]
fn text_from_a_trace_cannot_command_a_terminal() {
    let evil = "\u{1b}[2Jkernel\u{9b}31m\nnext\u{202e}txt";
    let shown = show(&report(table(&["name"], vec![vec![Cell::Text(evil.into())]])), 80);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{9b}') && !shown.contains('\u{202e}'));
    insta::assert_snapshot!(shown, @r"
    name
    ␛[2Jkernel�31m␊next�txt
    ");
}

#[test]
fn sentences_are_broken_into_lines() {
    let doc =
        "Length less the union of its children; annotations are transparent, so an op loses the calls below them.";
    let rows = vec![
        vec![Cell::Text("self_ns".into()), Cell::Text("int64".into()), Cell::Text(doc.into())],
        vec![Cell::Text("name".into()), Cell::Text("text".into()), Cell::Text("Name as recorded.".into())],
    ];
    insta::assert_snapshot!(show(&report(table(&["column", "type", "doc"], rows)), 80), @r"
    column   type   doc
    self_ns  int64  Length less the union of its children; annotations are
                    transparent, so an op loses the calls below them.
    name     text   Name as recorded.
    ");
}

#[test]
fn parts_in_reading_order() {
    let metric = |name: &str, unit, value, reason: Option<&str>| {
        Part::Metric(Metric { name: name.into(), value, unit, reason: reason.map(Into::into), is_for_programs: false })
    };
    let mut second = table(&["reason", "count"], vec![vec![Cell::Text("bad_time".into()), Cell::Int(3)]]);
    second.name = "lost_events".into();
    let report = Report::new(
        "health",
        vec![
            Part::Text("3 of 75,718 events are lost.".into()),
            metric("window_ns", Unit::Nanoseconds, Cell::Int(1_066_000_000), None),
            metric("memory_peak_bytes", Unit::Bytes, Cell::Null, Some("memory totals not recorded")),
            Part::Table(second),
        ],
    );
    insta::assert_snapshot!(show(&report, 80), @r"
    3 of 75,718 events are lost.

    window       1.066 s
    memory peak  –  memory totals not recorded

    LOST EVENTS
    reason    count
    bad_time      3
    ");
}

#[test]
fn color_marks_headings_and_gaps_only() {
    let mut rows = table(&["name", "value"], vec![vec![Cell::Text("a".into()), Cell::Null]]);
    rows.name = "figures".into();
    rows.columns[1] = ReportColumn::named("value_ns");
    let shown = text::render(&report(rows), TextOptions { color: ColorMode::Sixteen, ..TextOptions::default() });
    assert_eq!(shown, "\u{1b}[1mFIGURES\u{1b}[0m\nname  value\na         \u{1b}[2m–\u{1b}[0m\n");
}

#[test]
fn an_empty_table_has_a_header_only() {
    assert_eq!(show(&report(ReportTable { name: "rows".into(), ..ReportTable::default() }), 80), "\n");
}
