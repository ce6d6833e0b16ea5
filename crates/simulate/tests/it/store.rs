//! A store that is written straight is the one that ingesting the traces of the job makes.

use std::fs::File;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use stepscope_ingest::{Options, Progress, ingest};
use stepscope_model::{Table, tables};
use stepscope_simulate::{Job, write_store, write_traces};
use stepscope_store::{Store, read_schema};
use tempfile::TempDir;

/// The tables that are written.
const WRITTEN: [&Table; 3] = [&tables::STEPS, &tables::STEP_BREAKDOWN, &tables::ALL_COLLECTIVES];

/// Columns that point at an event, of which there is none.
const POINTERS: [&str; 2] = ["span_id", "position"];

pub(crate) struct Silent;

impl Progress for Silent {
    fn update(&self, _: &str, _: u64, _: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, message: &str) {
        panic!("{message}");
    }
}

/// The rows of a table, by rank.
fn rows(store: &Store, run: &str, table: &'static Table) -> Vec<RecordBatch> {
    let schema = read_schema(table);
    let mut paths = store.table_files(run, table).unwrap();
    paths.sort();
    let read = |path| {
        let options = ArrowReaderOptions::new().with_schema(schema.clone());
        let file = File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap().build().unwrap();
        let rows = concat_batches(&schema, &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        let compared =
            (0..schema.fields().len()).filter(|&column| !POINTERS.contains(&schema.field(column).name().as_str()));
        rows.project(&compared.collect::<Vec<_>>()).unwrap()
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn it_is_what_ingesting_the_traces_gives() {
    let job = Job { ranks: 3, slow_rank: Some(2), ..Job::demo() };
    let folder = TempDir::new().unwrap();
    let straight = Store::create(&folder.path().join("straight")).unwrap();
    write_store(&job, &straight, "traces").unwrap();

    let traces = folder.path().join("traces");
    write_traces(&job, &traces).unwrap();
    let ingested = Store::create(&folder.path().join("ingested")).unwrap();
    let sources = ingest(&[traces], &ingested, &Options::default(), &Silent).unwrap().sources;
    for (rank, source) in sources.iter().enumerate() {
        assert_eq!(source.record.id.rank as usize, rank);
        assert_eq!((source.record.lost_events(), source.record.warnings.len()), (0, 0));
    }

    for table in WRITTEN {
        let rows_straight = rows(&straight, "traces", table);
        assert_eq!(rows_straight.len(), 3);
        assert_eq!(rows_straight, rows(&ingested, "traces", table), "{}", table.name);
    }
    let records = [&straight, &ingested].map(|store| store.sources("traces").unwrap());
    for (a, b) in records[0].iter().zip(&records[1]) {
        assert_eq!((a.id, &a.devices, &a.header_world_size), (b.id, &b.devices, &b.header_world_size));
        assert_eq!(
            (a.base_time_ns, a.first_event_ns, a.last_event_ns),
            (b.base_time_ns, b.first_event_ns, b.last_event_ns)
        );
    }
}
