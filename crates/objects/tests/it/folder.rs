//! What is particular to a folder.

use std::fs;
use std::ops::ControlFlow;

use stepscope_objects::{Bucket, Place, Put, UNWATCHED};

#[test]
fn what_is_not_finished_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = Bucket::open(&Place::Folder(folder.path().to_owned())).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), vec![7; 3 << 20]).unwrap();
    let stop = |done: u64| if done > 1 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let error = bucket.put_parts("a/x", file.path(), &stop).unwrap_err();
    assert!(error.is_canceled(), "{error}");
    assert_eq!(bucket.head("a/x").unwrap(), None);
    assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 0);

    // What a killed writer leaves has a name that is not a key.
    fs::write(folder.path().join("a/.tmp-1-1"), "half").unwrap();
    assert_eq!(bucket.list("", UNWATCHED).unwrap(), []);
    assert!(bucket.put_new("a/.tmp-1-1", "x").is_err());
    assert_eq!(bucket.put_parts("a/x", file.path(), UNWATCHED).unwrap(), Put::Created);
    assert!(bucket.get("a/x", &stop).unwrap_err().is_canceled());
}

#[test]
fn a_folder_is_not_an_object_and_a_file_has_nothing_below() {
    let folder = tempfile::tempdir().unwrap();
    let bucket = Bucket::open(&Place::Folder(folder.path().to_owned())).unwrap();
    bucket.put("a/b", "x").unwrap();
    assert_eq!(bucket.head("a").unwrap(), None);
    assert!(bucket.get("a", UNWATCHED).unwrap_err().is_not_found());
    assert_eq!(bucket.head("a/b/c").unwrap(), None);
    assert!(bucket.get("a/b/c", UNWATCHED).unwrap_err().is_not_found());
    assert!(bucket.put_new("a/b/c", "x").is_err());
    assert_eq!(bucket.list("", UNWATCHED).unwrap().len(), 1);
}
