//! What a recording has in its file.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use stepscope_model::segment::{FRAME_HEAD_BYTES, SegmentRecord, take_process_id, take_record};
use stepscope_record::{Scope, enter_named, leave_named, recording};

/// Regions by name, over all processes, and the number of processes.
pub(crate) fn read(path: &Path) -> (BTreeMap<String, u64>, usize) {
    let bytes = std::fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    let mut names = BTreeMap::new();
    let mut counts = BTreeMap::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let mut payload = &rest[FRAME_HEAD_BYTES..FRAME_HEAD_BYTES + length];
        rest = &rest[FRAME_HEAD_BYTES + length..];
        let process = take_process_id(&mut payload).unwrap();
        while let Some(record) = take_record(&mut payload).unwrap() {
            match record {
                SegmentRecord::Name { id, text } => drop(names.insert((process, id), text.to_owned())),
                SegmentRecord::Span { name, .. } => *counts.entry(names[&(process, name)].clone()).or_default() += 1,
                SegmentRecord::Process { .. } => drop(names.insert((process, 0), String::new())),
                _ => {}
            }
        }
    }
    (counts, names.keys().filter(|(_, id)| *id == 0).count())
}

#[test]
fn everything_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording::start(&folder.path().join("new"), 1 << 30).unwrap();
    let scope = Scope::new();
    thread::scope(|threads| {
        for number in 0..4 {
            threads.spawn(move || {
                let name = scope.name(&format!("thread {number}"));
                for _ in 0..5000 {
                    enter_named(name, 0);
                    leave_named(name, 0, None);
                }
            });
        }
    });
    recording::stop();
    recording::stop();
    let (counts, processes) = read(&path);
    assert_eq!(processes, 1);
    assert_eq!(counts.values().copied().collect::<Vec<u64>>(), [5000; 4], "{counts:?}");
    assert_eq!(recording::path(), None);
}

#[test]
fn a_second_recording_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording::start(folder.path(), 1 << 30).unwrap();
    let refused = recording::start(folder.path(), 1 << 30).unwrap_err();
    assert_eq!(refused.to_string(), format!("this process is already recording to {}", path.display()));
    recording::stop();
    recording::start(folder.path(), 1 << 30).unwrap();
}

#[test]
fn a_file_is_no_longer_than_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording::start(folder.path(), 100_000).unwrap();
    let name = Scope::new().name("many");
    let count = 60_000;
    for number in 0..count {
        enter_named(name, 0);
        leave_named(name, 0, None);
        if number % 5000 == 0 {
            recording::flush();
        }
    }
    recording::flush();
    let counts = recording::counts();
    recording::stop();
    assert!(std::fs::metadata(&path).unwrap().len() <= 101_000);
    assert_eq!(read(&path).0["many"] + counts.lost_no_room, count);
    assert_eq!(counts.regions, count);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = recording::start(&file, 1 << 30).unwrap_err().to_string();
    assert!(error.starts_with("cannot record to ") && error.contains("file"), "{error}");
}
