//! What is written is what is read, for every table.

use std::fs::File;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::{cast, concat_batches};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Encoding, Type};
use parquet::file::metadata::RowGroupMetaData;
use stepscope_model::{SourceId, Table, tables};
use stepscope_store::{SourceWriter, Store, read_schema};

use crate::synthetic::{self, RUN};

/// The rows of a file as a reader of the store sees them.
fn read(path: &Path, table: &Table) -> RecordBatch {
    let schema = read_schema(table);
    let options = ArrowReaderOptions::new().with_schema(schema.clone());
    let file = File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap().build().unwrap();
    concat_batches(&schema, &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

/// Rows as written, with the text type of a reader.
fn as_read(batch: &RecordBatch, table: &Table) -> RecordBatch {
    let schema = read_schema(table);
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap()).collect();
    RecordBatch::try_new(schema, columns).unwrap()
}

#[test]
fn every_table_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let id = SourceId { rank: 200, window: 1 };
    let mut source = SourceWriter::begin(&store, RUN, id).unwrap();
    for table in tables::TABLES {
        // Two open writers of one table, batches of different sizes, one of them empty.
        let mut first = source.table(table).unwrap();
        first.write(&synthetic::rows(table, id, 0, 1000)).unwrap();
        let mut second = source.table(table).unwrap();
        second.write(&synthetic::rows(table, id, 1000, 0)).unwrap();
        second.write(&synthetic::rows(table, id, 1000, 37)).unwrap();
        if table.name != "spans" {
            assert_eq!(first.finish().unwrap(), 1037);
        }
    }
    let record = source.commit(synthetic::record()).unwrap();
    assert_eq!(record.run, RUN);
    assert_eq!(record.id, id);

    let store = Store::open(folder.path()).unwrap();
    let mut bytes = 0;
    for table in tables::TABLES {
        assert_eq!(record.rows.of(table), 1037);
        let files = store.table_files(RUN, table).unwrap();
        assert_eq!(files.len(), 1);
        bytes += files[0].metadata().unwrap().len();
        let want = as_read(&synthetic::rows(table, id, 0, 1037), table);
        assert_eq!(read(&files[0], table), want, "{}", table.name);
    }
    assert_eq!(record.bytes_out, bytes);
    assert_eq!(store.sources(RUN).unwrap(), [record]);
}

#[test]
fn row_groups_have_their_size_and_columns_their_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    synthetic::commit(&store, 0, 0, &[&tables::COUNTERS], 300_000);
    let file = File::open(&store.table_files(RUN, &tables::COUNTERS).unwrap()[0]).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let metadata = builder.metadata();
    let row_groups: Vec<_> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(row_groups, [262_144, 300_000 - 262_144]);
    for column in metadata.row_group(0).columns() {
        let name = column.column_path().string();
        let has_extremes = column.statistics().is_some_and(|statistics| statistics.min_bytes_opt().is_some());
        assert_eq!(has_extremes, column.column_type() != Type::BYTE_ARRAY, "{name}");
        assert!(column.offset_index_offset().is_some(), "{name}");
        let has_dictionary = column.dictionary_page_offset().is_some();
        assert_eq!(has_dictionary, !matches!(name.as_str(), "ts_ns" | "position"), "{name}");
        let has = |wanted| column.encodings().any(|encoding| encoding == wanted);
        assert_eq!(has(Encoding::DELTA_BINARY_PACKED), name == "ts_ns", "{name}");
        assert_eq!(has(Encoding::BYTE_STREAM_SPLIT), name == "position", "{name}");
    }
}
