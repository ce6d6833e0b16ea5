//! A source exists entirely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::{Hint, SourceId, tables};
use stepscope_store::{SourceWriter, Store, StoreError, layout};

use crate::synthetic::{self, RUN};

/// Every file below a folder, with its content, sorted by path.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn nothing_is_left_of_a_source_that_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let id = SourceId { rank: 0, window: 0 };
    let mut source = SourceWriter::begin(&store, RUN, id).unwrap();
    let mut table = source.table(&tables::SPANS).unwrap();
    table.write(&synthetic::rows(&tables::SPANS, id, 0, 10)).unwrap();
    assert!(store.runs().unwrap().is_empty());
    assert!(!Store::is_store(folder.path()));
    drop(source);
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 0);
    // The handle that was left over writes into nothing that anybody can see.
    table.finish().unwrap();
    assert!(snapshot(folder.path()).is_empty());
}

#[test]
fn nothing_but_the_layout_is_left_by_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    synthetic::commit(&store, 129, 3, &[&tables::SPANS], 10);
    let paths: Vec<_> = snapshot(folder.path()).into_iter().map(|(path, _)| path).collect();
    let root = Path::new("");
    let id = SourceId { rank: 129, window: 3 };
    let want = [
        layout::summary_file(root, RUN),
        layout::source_file(root, RUN, id),
        layout::table_file(root, RUN, &tables::SPANS, id),
    ];
    assert_eq!(paths, want);
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 1);
}

#[test]
fn a_file_without_a_record_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    for rank in [200, 3, 10] {
        synthetic::commit(&store, rank, 1, &[&tables::STEPS], 2);
        synthetic::commit(&store, rank, 0, &[&tables::STEPS], 2);
    }
    let file = |rank, window| layout::table_file(folder.path(), RUN, &tables::STEPS, SourceId { rank, window });
    let want = [file(3, 0), file(3, 1), file(10, 0), file(10, 1), file(200, 0), file(200, 1)];
    assert_eq!(store.table_files(RUN, &tables::STEPS).unwrap(), want, "sorted by number, not by name");
    assert!(store.table_files(RUN, &tables::FLOWS).unwrap().is_empty());

    fs::remove_file(layout::source_file(folder.path(), RUN, SourceId { rank: 10, window: 0 })).unwrap();
    fs::write(folder.path().join("runs/run/sources/.tmp-1"), "{").unwrap();
    assert_eq!(store.table_files(RUN, &tables::STEPS).unwrap().len(), 5);
    let summary = store.summary(RUN).unwrap();
    assert_eq!((summary.sources, summary.ranks, summary.windows), (5, 3, 2));
}

#[test]
fn a_lost_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    synthetic::commit(&store, 0, 0, &[&tables::STEPS], 2);
    fs::remove_file(&store.table_files(RUN, &tables::STEPS).unwrap()[0]).unwrap();
    let error = store.table_files(RUN, &tables::STEPS).unwrap_err();
    assert!(error.to_string().ends_with("runs/run/steps/bucket=0/0.0.parquet"), "{error}");
    assert_eq!(error.hint().unwrap(), "ingest the trace again");
}

#[test]
fn a_second_commit_replaces_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    synthetic::commit(&store, 0, 0, &[&tables::SPANS, &tables::FLOWS], 10);
    let record = synthetic::commit(&store, 0, 0, &[&tables::SPANS, &tables::STEPS], 20);
    assert_eq!(record.rows.of(&tables::SPANS), 20);
    assert_eq!(store.sources(RUN).unwrap(), [record]);
    assert!(store.table_files(RUN, &tables::FLOWS).unwrap().is_empty());
    assert!(!layout::table_file(folder.path(), RUN, &tables::FLOWS, SourceId { rank: 0, window: 0 }).exists());
}

#[test]
fn a_table_without_rows_has_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let record = synthetic::commit(&store, 0, 0, &[&tables::SPANS], 0);
    assert_eq!((record.rows.of(&tables::SPANS), record.bytes_out), (0, 0));
    assert!(store.table_files(RUN, &tables::SPANS).unwrap().is_empty());
    assert_eq!(store.runs().unwrap(), [RUN]);
}

#[test]
fn the_same_rows_are_the_same_bytes() {
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        synthetic::commit(&store, 0, 0, &tables::TABLES, 5000);
        synthetic::commit(&store, 128, 1, &[&tables::SPANS], 10);
        snapshot(folder.path())
    };
    let (first, second) = (make(), make());
    assert_eq!(first.len(), tables::TABLES.len() + 1 + 2 + 1);
    assert_eq!(first, second);
}

#[test]
fn rows_of_another_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let id = SourceId { rank: 0, window: 0 };
    let mut source = SourceWriter::begin(&store, RUN, id).unwrap();
    let mut table = source.table(&tables::SPANS).unwrap();
    let error = table.write(&synthetic::rows(&tables::FLOWS, id, 0, 1)).unwrap_err();
    assert!(matches!(error, StoreError::WrongColumns { table: "spans", .. }), "{error}");
    let again = source.table(&tables::SPANS).unwrap();
    again.finish().unwrap();
    let error = table.write(&synthetic::rows(&tables::SPANS, id, 0, 1)).unwrap_err();
    assert_eq!(error.to_string(), "the table spans is already finished");
}

#[test]
fn run_names_are_made_safe() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let source = SourceWriter::begin(&store, "../../out of here", SourceId { rank: 0, window: 0 }).unwrap();
    let record = source.commit(synthetic::record()).unwrap();
    assert_eq!(record.run, "_._.._out_of_here");
    assert_eq!(store.runs().unwrap(), ["_._.._out_of_here"]);
    assert_eq!(store.sources("../../out of here").unwrap(), [record]);
}
