use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use stepscope_model::{Cell, Grade, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Status, Text};
use stepscope_report::{Document, json, markdown};

use crate::data::{operators, report, table};

fn mixed() -> Report {
    let row = |cells: [Cell; 7]| cells.to_vec();
    let rows = vec![
        row([
            Cell::Text("a".into()),
            Cell::Int(1),
            Cell::Int(2),
            Cell::Bool(true),
            Cell::Numbers(vec![0.5, 1.5]),
            Cell::Json(serde_json::json!({"x": 1})),
            Cell::Null,
        ]),
        row([Cell::Null, Cell::Null, Cell::Float(0.25), Cell::Null, Cell::Null, Cell::Null, Cell::Null]),
    ];
    report(table(&["name", "calls", "share_ratio", "complete", "each_ns", "dropped", "name"], rows))
}

fn check(batch: &RecordBatch) {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["name", "calls", "share_ratio", "complete", "each_ns", "dropped", "name_2"]);
    assert!(schema.fields().iter().all(|field| field.is_nullable()));
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(batch.column(0).as_string::<i32>().value(0), "a");
    assert!(batch.column(0).is_null(1));
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(0), 1);
    // An integer among numbers is a number.
    assert_eq!(batch.column(2).as_primitive::<Float64Type>().values(), &[2.0, 0.25]);
    assert!(batch.column(3).as_boolean().value(0));
    let list = batch.column(4).as_list::<i32>();
    assert_eq!(list.value(0).as_primitive::<Float64Type>().values(), &[0.5, 1.5]);
    assert!(list.is_null(1));
    assert_eq!(batch.column(5).as_string::<i32>().value(0), "{\"x\":1}");
    // Nothing but nulls: the name of the column tells the type.
    assert_eq!(batch.column(6).data_type(), &DataType::Utf8);
}

#[test]
fn arrow_carries_types() {
    let bytes = stepscope_report::arrow::render(&mixed()).unwrap();
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    check(&reader.map(Result::unwrap).next().unwrap());
}

#[test]
fn parquet_carries_types() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stepscope_report::parquet::render(&mixed()).unwrap()).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file.reopen().unwrap());
    check(&reader.unwrap().build().unwrap().map(Result::unwrap).next().unwrap());
}

#[test]
fn types_of_a_query_do_not_depend_on_its_rows() {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, NullArray, StringArray, UInt64Array};
    use stepscope_report::arrow::ArrowStream;
    use stepscope_report::parquet::ParquetStream;
    let columns: [(&str, ArrayRef); 4] = [
        ("a", Arc::new(Int32Array::from(vec![1, 2]))),
        ("b", Arc::new(StringArray::from(vec![None::<&str>, None]))),
        ("c", Arc::new(NullArray::new(2))),
        ("d", Arc::new(UInt64Array::from(vec![1, 2]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let mut stream = ArrowStream::new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.write(&batch).unwrap();
    let bytes = stream.finish().unwrap();
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let types = |schema: &arrow::datatypes::Schema| {
        schema.fields().iter().map(|field| field.data_type().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(types(&reader.schema()), "Int64 Utf8 Int64 Int64");
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut stream = ParquetStream::new(&mut file, &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    let reader =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file.reopen().unwrap()).unwrap();
    assert_eq!(types(reader.schema()), "Int64 Utf8 Int64 Int64");
    // What does not fit is said, not bent.
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let large = RecordBatch::try_from_iter([("d", large)]).unwrap();
    assert!(ArrowStream::new(Vec::new(), &large.schema()).unwrap().write(&large).is_err());
}

#[test]
fn a_table_without_rows_or_columns_is_a_file() {
    let empty = report(table(&["name"], vec![]));
    assert!(!stepscope_report::arrow::render(&empty).unwrap().is_empty());
    assert!(!stepscope_report::parquet::render(&empty).unwrap().is_empty());
    let nothing = Report::new("nothing", vec![]);
    assert!(!stepscope_report::arrow::render(&nothing).unwrap().is_empty());
    assert!(!stepscope_report::parquet::render(&nothing).unwrap().is_empty());
}

#[test]
fn markdown_is_for_github() {
    let Part::Table(mut kernels) = operators().parts.remove(0) else { panic!("not a table") };
    kernels.columns[0] = ReportColumn::named("name").label("kernel | name").look(Look::Kernel);
    kernels.columns[4].look = Look::Hidden;
    kernels.rows[0][0] = Cell::Text("void at::f<float, 8>(int)".into());
    kernels.rows[1][0] = Cell::Text("_a|b_".into());
    let total = [Cell::Text("3 kernels".into()), Cell::Int(4_278), Cell::Int(150_720_000), Cell::Null, Cell::Null];
    let kernels = ReportTable {
        title: Some("TOP KERNELS".into()),
        total: Some(total.to_vec()),
        notes: vec!["sums over 6 steps".into()],
        ..kernels
    };
    let head = Text {
        role: Role::Head,
        lines: vec!["a run".into(), "2 GPUs".into()],
        right: Some(Status::Health(Some(Grade::Good))),
        ..Text::default()
    };
    let parts = vec![
        Part::Text(head),
        Part::Text(Text::headline("All is well.")),
        Part::Table(kernels),
        Part::Text(Text::labeled(Role::Next, vec!["stepscope diagnose".into()])),
    ];
    insta::assert_snapshot!(markdown::render(&Report::new("test", parts)), @r"
    a run  
    2 GPUs  
    trace health: good

    **All is well.**

    ### TOP KERNELS

    | kernel \| name | calls | device self | share |
    |---|---:|---:|---:|
    | f&lt;8> | 318 | 126.62 ms | 21.0 % |
    | \_a\|b\_ | 2,994 | 24.10 ms | 4.0 % |
    | mul\_ | 966 | 0 ms | &lt; 0.1 % |
    | **3 kernels** | **4,278** | **150.72 ms** | **–** |

    sums over 6 steps

    *next* stepscope diagnose
    ");
}

#[test]
fn missing_values_go_into_nulls() {
    let missing = Missing {
        path: "rows[2].memory_bytes".into(),
        label: "memory".into(),
        reason: "argument not recorded: Bytes".into(),
    };
    let report = Report { missing: vec![missing], ..operators() };
    let shown = json::render(&Document { report: Some(&report), ..Document::default() });
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["nulls"], serde_json::json!({"rows[2].memory_bytes": "argument not recorded: Bytes"}));
}
