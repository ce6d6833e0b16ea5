//! A store of another version, or a broken one, is refused by name.

use std::fs;
use std::path::Path;

use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_model::{Hint, SourceId, tables};
use stepscope_store::{Store, StoreError, layout};

use crate::synthetic::{self, RUN};

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn store_with_one_source() -> (tempfile::TempDir, Store, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    synthetic::commit(&store, 0, 0, &[&tables::STEPS], 2);
    let record = layout::source_file(folder.path(), RUN, SourceId { rank: 0, window: 0 });
    (folder, store, record)
}

#[test]
fn another_version_is_refused() {
    for (key, what, version) in
        [("schema_version", "schema", SCHEMA_VERSION), ("derivation_version", "derivation", DERIVATION_VERSION)]
    {
        let (folder, store, record) = store_with_one_source();
        let (from, to) = (format!("\"{key}\": {version}"), format!("\"{key}\": 0"));
        edit(&record, &from, &to);
        let error = store.sources(RUN).unwrap_err();
        let want = format!("written by {what} 0, this Stepscope reads {version}: {}", record.display());
        assert_eq!(error.to_string(), want);
        assert_eq!(error.hint().unwrap(), "ingest the trace again into a new store");
        Store::open(folder.path()).unwrap();

        edit(&layout::summary_file(folder.path(), RUN), &from, &to);
        assert!(matches!(Store::open(folder.path()), Err(StoreError::WrongVersion { .. })));
        assert!(matches!(Store::create(folder.path()), Err(StoreError::WrongVersion { .. })));

        // Without a summary, and with a broken one, the records are asked.
        fs::write(layout::summary_file(folder.path(), RUN), "{").unwrap();
        assert!(matches!(Store::open(folder.path()), Err(StoreError::WrongVersion { .. })));
        fs::remove_file(layout::summary_file(folder.path(), RUN)).unwrap();
        assert!(matches!(Store::open(folder.path()), Err(StoreError::WrongVersion { .. })));
    }
}

#[test]
fn a_newer_version_is_refused_before_its_record_is_understood() {
    let (_folder, store, record) = store_with_one_source();
    let newer = SCHEMA_VERSION + 1;
    let text = format!(r#"{{"schema_version": {newer}, "derivation_version": 1, "unknown": []}}"#);
    fs::write(&record, text).unwrap();
    let error = store.sources(RUN).unwrap_err();
    let want = format!("written by schema {newer}, this Stepscope reads {SCHEMA_VERSION}");
    assert!(error.to_string().starts_with(&want), "{error}");
    assert!(error.hint().unwrap().contains("update"));
}

#[test]
fn a_corrupt_record_is_named() {
    #[track_caller]
    fn check(content: &str, reason: &str) {
        let (_folder, store, record) = store_with_one_source();
        fs::write(&record, content).unwrap();
        let error = store.sources(RUN).unwrap_err().to_string();
        assert!(error.starts_with(&format!("corrupt source record: {reason}")), "{error}");
        assert!(error.ends_with(&format!(": {}", record.display())), "{error}");
        assert!(store.table_files(RUN, &tables::STEPS).is_err());
    }
    check("", "EOF while parsing");
    check("{\"schema", "EOF while parsing");
    check("[]", "it has no schema_version");
    let schema = format!("\"schema_version\": {SCHEMA_VERSION}");
    check(&format!("{{{schema}}}"), "it has no derivation_version");
    check(&format!("{{{schema}, \"derivation_version\": {DERIVATION_VERSION}}}"), "missing field");
}

#[test]
fn a_record_under_another_name_is_corrupt() {
    let (_folder, store, record) = store_with_one_source();
    fs::rename(&record, record.with_file_name("7.0.json")).unwrap();
    let error = store.sources(RUN).unwrap_err().to_string();
    assert!(error.contains("it is for rank 0, window 0, but its name is not"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let (folder, store, _record) = store_with_one_source();
    assert!(store.sources("other").unwrap().is_empty());
    let error = store.require_sources("other").unwrap_err();
    assert!(error.to_string().starts_with("found no run \"other\" in the store"), "{error}");
    assert_eq!(error.hint().unwrap(), "the store has run");
    let error = Store::open(&folder.path().join("runs")).unwrap_err();
    assert!(error.to_string().starts_with("not a store: "), "{error}");
    assert!(!Store::is_store(&folder.path().join("missing")));
    assert!(Store::is_store(folder.path()));
}
