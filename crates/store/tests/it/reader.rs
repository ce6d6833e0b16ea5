//! Rows by their keys, against all rows looked at one by one.

use std::ops::RangeInclusive;

use arrow::array::AsArray;
use arrow::compute::concat_batches;
use arrow::datatypes::{Int32Type, Int64Type};
use stepscope_model::{SourceId, tables::TILES};
use stepscope_objects::UNWATCHED;
use stepscope_store::{AnyStore, Scope, Store, TableReader};

use crate::synthetic::{self, RUN};

/// Looks at the table as the folder form has it, and as it is in a pack.
fn in_both_forms(store: &Store, id: SourceId, look: impl Fn(Option<TableReader>)) {
    let packs = tempfile::tempdir().unwrap();
    synthetic::pack_into(store, packs.path());
    for root in [store.root(), packs.path()] {
        let catalog = AnyStore::open_folder(root).unwrap().catalog(RUN, Scope::default(), UNWATCHED).unwrap();
        look(catalog.reader(id, &TILES).unwrap());
    }
}

/// More than a row group, and many pages.
const ROWS: usize = 300_000;

#[test]
fn keys_find_exactly_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let source = synthetic::commit(&store, 0, 0, &[&TILES], ROWS);
    let all = synthetic::rows(&TILES, SourceId { rank: 0, window: 0 }, 0, ROWS);
    let tracks = all.column_by_name("track_id").unwrap().as_primitive::<Int32Type>().values();
    let starts = all.column_by_name("start_ns").unwrap().as_primitive::<Int64Type>().values();
    let check_reader = |reader: &TableReader, track: RangeInclusive<i64>, start: RangeInclusive<i64>| {
        let keys = vec![("track_id", track.clone()), ("start_ns", start.clone())];
        let batches = reader.rows(&["name"], keys).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        let found: Vec<(i32, i64)> = batches
            .iter()
            .flat_map(|batch| {
                let tracks = batch.column_by_name("track_id").unwrap().as_primitive::<Int32Type>().values();
                let starts = batch.column_by_name("start_ns").unwrap().as_primitive::<Int64Type>().values();
                tracks.iter().copied().zip(starts.iter().copied()).collect::<Vec<_>>()
            })
            .collect();
        let want: Vec<(i32, i64)> = (0..ROWS)
            .map(|row| (tracks[row], starts[row]))
            .filter(|(at, begin)| track.contains(&i64::from(*at)) && start.contains(begin))
            .collect();
        assert_eq!(found.len(), want.len(), "{track:?} {start:?}");
        assert_eq!(found, want, "{track:?} {start:?}");
    };
    let check = |track: RangeInclusive<i64>, start: RangeInclusive<i64>| {
        in_both_forms(&store, source.id, |reader| check_reader(&reader.unwrap(), track.clone(), start.clone()));
    };
    let any = i64::MIN..=i64::MAX;
    check(any.clone(), any.clone());
    check(5..=5, any.clone());
    check(262_000..=263_000, any.clone());
    check(100_000..=200_000, i64::MAX - 150_000..=i64::MAX - 140_000);
    check(any.clone(), i64::MIN..=i64::MIN);
    check(-10..=-1, any.clone());
    check(0..=10, 0..=0);
}

#[test]
fn texts_come_with_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let source = synthetic::commit(&store, 0, 0, &[&TILES], 1_000);
    let all = synthetic::rows(&TILES, SourceId { rank: 0, window: 0 }, 0, 1_000);
    let first = (0..1_000).find(|row| all.column(2).as_primitive::<Int32Type>().value(*row) == 500).unwrap();
    let text = |batch: &arrow::array::RecordBatch, row: usize| {
        let names = batch.column_by_name("name").unwrap().as_dictionary::<Int32Type>();
        let key = names.key(row)?;
        Some(names.values().as_string::<i32>().value(key).to_owned())
    };
    in_both_forms(&store, source.id, |reader| {
        let reader = reader.unwrap();
        let batches = reader.rows(&["name"], vec![("track_id", 500..=502)]).unwrap();
        let batches = batches.collect::<Result<Vec<_>, _>>().unwrap();
        let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
        for row in 0..3 {
            assert_eq!(text(&batch, row), text(&all, first + row));
        }
    });
}

#[test]
fn a_table_without_rows_has_no_reader() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let source = synthetic::commit(&store, 0, 0, &[&TILES], 0);
    in_both_forms(&store, source.id, |reader| assert!(reader.is_none()));
}
