use stepscope_model::{Cell, Metric, Part, Report, ReportColumn, ReportTable, Unit};
use stepscope_report::{Document, csv, json};

pub(crate) fn table(columns: &[&str], rows: Vec<Vec<Cell>>) -> ReportTable {
    let columns = columns.iter().map(|name| ReportColumn::named(name)).collect();
    ReportTable::rows(columns, rows)
}

pub(crate) fn report(table: ReportTable) -> Report {
    Report::new("test", vec![Part::Table(table)])
}

pub(crate) fn operators() -> Report {
    let row = |name: &str, calls, device_self_ns, share, memory| {
        vec![Cell::Text(name.into()), Cell::Int(calls), Cell::Int(device_self_ns), Cell::Float(share), memory]
    };
    report(table(
        &["name", "calls", "device_self_ns", "share_ratio", "memory_bytes"],
        vec![
            row("aten::cudnn_convolution", 318, 126_620_000, 0.2098, Cell::Int(2_791_728_742)),
            row("aten::add_", 2_994, 24_100_000, 0.0399, Cell::Int(0)),
            row("aten::mul_", 966, 0, 0.0002, Cell::Null),
        ],
    ))
}

#[test]
fn json_is_one_object_with_a_row_a_line() {
    let report = operators();
    let document = Document {
        report: Some(&report),
        version: "0.1.0",
        before: vec![("run", serde_json::json!({"name": "resnet"}))],
        nulls: vec![("rows[2].memory_bytes".into(), "argument not recorded: Bytes".into())],
        ..Document::default()
    };
    insta::assert_snapshot!(json::render(&document), @r#"
    {
      "schema": "stepscope.test/1",
      "stepscope": "0.1.0",
      "run": {
        "name": "resnet"
      },
      "rows": [
        {"name":"aten::cudnn_convolution","calls":318,"device_self_ns":126620000,"share_ratio":0.2098,"memory_bytes":2791728742},
        {"name":"aten::add_","calls":2994,"device_self_ns":24100000,"share_ratio":0.0399,"memory_bytes":0},
        {"name":"aten::mul_","calls":966,"device_self_ns":0,"share_ratio":0.0002,"memory_bytes":null}
      ],
      "nulls": {
        "rows[2].memory_bytes": "argument not recorded: Bytes"
      }
    }
    "#);
}

#[test]
fn json_without_a_report_still_has_rows() {
    let document = Document {
        name: "metrics",
        version: "0.1.0",
        after: vec![("metrics", serde_json::json!({"gpu": {"0": {"busy_ns": 12}}}))],
        ..Document::default()
    };
    insta::assert_snapshot!(json::render(&document), @r#"
    {
      "schema": "stepscope.metrics/1",
      "stepscope": "0.1.0",
      "rows": [],
      "metrics": {
        "gpu": {
          "0": {
            "busy_ns": 12
          }
        }
      }
    }
    "#);
}

#[test]
fn json_gives_reasons_for_what_is_no_number() {
    let metric = Metric {
        name: "peak_bytes".into(),
        value: Cell::Null,
        unit: Unit::Bytes,
        reason: Some("memory totals not recorded".into()),
        is_for_programs: false,
    };
    let rows =
        table(&["a", "a", "text"], vec![vec![Cell::Float(f64::NAN), Cell::Int(1), Cell::Text("\u{9b}\u{7f}".into())]]);
    let report = Report::new("test", vec![Part::Metric(metric), Part::Table(rows)]);
    let shown = json::render(&Document { report: Some(&report), version: "0.1.0", ..Document::default() });
    insta::assert_snapshot!(shown, @r#"
    {
      "schema": "stepscope.test/1",
      "stepscope": "0.1.0",
      "peak_bytes": null,
      "rows": [
        {"a":null,"a_2":1,"text":"\u009b\u007f"}
      ],
      "nulls": {
        "peak_bytes": "memory totals not recorded",
        "rows[0].a": "not a number"
      }
    }
    "#);
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["rows"][0]["text"], "\u{9b}\u{7f}");
    assert_eq!(value["rows"][0]["a_2"], 1);
}

#[test]
fn csv_is_quoted_and_raw() {
    let rows = vec![
        vec![Cell::Text("a \"b\", c".into()), Cell::Int(-5), Cell::Float(0.5), Cell::Bool(true)],
        vec![Cell::Text(String::new()), Cell::Null, Cell::Float(f64::INFINITY), Cell::Null],
        vec![Cell::Text("two\nlines".into()), Cell::Int(0), Cell::Float(1e21), Cell::Json(serde_json::json!({"a": 1}))],
    ];
    insta::assert_snapshot!(csv::render(&report(table(&["name", "dur_ns", "x", "complete"], rows))), @r#"
    name,dur_ns,x,complete
    "a ""b"", c",-5,0.5,true
    "",,,
    "two
    lines",0,1000000000000000000000,"{""a"":1}"
    "#);
}
