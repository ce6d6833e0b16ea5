//! The traces of a job are what a profiler would have written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use stepscope_model::Phase;
use stepscope_simulate::{Job, write_traces};
use stepscope_testkit::plain_bytes;
use tempfile::TempDir;

use crate::recording::Recording;

fn recordings(job: &Job) -> Vec<Recording> {
    let folder = TempDir::new().unwrap();
    write_traces(job, folder.path()).unwrap().iter().map(|path| Recording::read(path)).collect()
}

#[test]
fn the_same_job_gives_the_same_bytes() {
    let (first, again) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let job = Job { steps: 2, ..Job::demo() };
    let paths = [&first, &again].map(|folder| write_traces(&job, folder.path()).unwrap());
    assert_eq!(paths[0].len(), 2);
    for (a, b) in paths[0].iter().zip(&paths[1]) {
        assert_eq!(a.file_name(), b.file_name());
        assert_eq!(fs::read(a).unwrap(), fs::read(b).unwrap());
    }
    let other = TempDir::new().unwrap();
    let paths_of_other = write_traces(&Job { seed: 2, ..job }, other.path()).unwrap();
    assert_ne!(fs::read(&paths[0][0]).unwrap(), fs::read(&paths_of_other[0]).unwrap());
}

#[test]
fn the_demo_is_small_and_valid_json() {
    let folder = TempDir::new().unwrap();
    let mut size_bytes = 0;
    for (rank, path) in write_traces(&Job::demo(), folder.path()).unwrap().iter().enumerate() {
        size_bytes += fs::metadata(path).unwrap().len();
        let whole: serde_json::Value = serde_json::from_slice(&plain_bytes(path)).unwrap();
        assert_eq!(whole["distributedInfo"]["rank"], rank);
        assert_eq!(whole["distributedInfo"]["world_size"], 2);
        assert_eq!(whole["deviceProperties"][0]["computeMajor"], 8);
        assert!(path.file_name().unwrap().to_str().unwrap().starts_with(&format!("rank{rank}.")));
    }
    assert!(size_bytes < 2_000_000, "{size_bytes}");
}

#[test]
fn every_kernel_has_its_call_and_every_call_lies_in_its_operator() {
    for recording in recordings(&Job { steps: 2, ..Job::demo() }) {
        let by = |category: &str, key: &str| -> BTreeMap<i64, _> {
            let keyed: Vec<_> = recording.of(category).filter_map(|event| Some((event.int(key)?, event))).collect();
            let map: BTreeMap<_, _> = keyed.iter().copied().collect();
            assert_eq!(map.len(), keyed.len(), "{category} has each {key} once");
            map
        };
        let calls = by("cuda_runtime", "correlation");
        let ops = by("cpu_op", "External id");
        assert!(!ops.is_empty());
        for call in calls.values() {
            let Some(op) = call.int("External id").map(|id| ops[&id]) else { continue };
            assert_eq!(op.thread, call.thread);
            assert!(op.start_ns <= call.start_ns && call.end_ns() <= op.end_ns());
        }
        let mut stream_ends = BTreeMap::new();
        for device_event in recording.of("kernel").chain(recording.of("gpu_memcpy")) {
            let call = calls[&device_event.int("correlation").unwrap()];
            assert!(call.start_ns < device_event.start_ns, "launched before it runs");
            assert_eq!(device_event.int("External id"), call.int("External id"));
        }
        // One stream does one thing at a time, in the order of the launches.
        let mut device_events: Vec<_> = recording.of("kernel").chain(recording.of("gpu_memcpy")).collect();
        device_events.sort_by_key(|event| event.int("correlation"));
        for event in device_events {
            let end_ns = stream_ends.insert(event.int("stream").unwrap(), event.end_ns());
            assert!(end_ns.unwrap_or(i64::MIN) <= event.start_ns);
        }
        assert_eq!(stream_ends.len(), 2);
    }
}

#[test]
fn spans_of_a_thread_nest() {
    for recording in recordings(&Job { steps: 2, ..Job::demo() }) {
        let host = ["cpu_op", "user_annotation", "cuda_runtime", "python_function"];
        let mut spans: Vec<_> = host.iter().flat_map(|category| recording.of(category)).collect();
        spans.sort_by_key(|span| (span.thread.clone(), span.start_ns, -span.dur_ns));
        let mut open: Vec<&crate::recording::Recorded> = Vec::new();
        for span in spans {
            while open.last().is_some_and(|top| top.thread != span.thread || top.end_ns() <= span.start_ns) {
                open.pop();
            }
            assert!(open.last().is_none_or(|top| span.end_ns() <= top.end_ns()), "{} crosses", span.name);
            open.push(span);
        }
    }
}

#[test]
fn arrows_have_both_ends_and_memory_comes_back() {
    for recording in recordings(&Job { steps: 2, ..Job::demo() }) {
        let ends = |phase: Phase| -> BTreeSet<(String, String)> {
            let ends = recording.events.iter().filter(|event| event.phase == phase);
            ends.map(|event| (event.category.clone(), event.id.to_string())).collect()
        };
        assert!(!ends(Phase::FlowStart).is_empty());
        assert_eq!(ends(Phase::FlowStart), ends(Phase::FlowEnd));

        let mut blocks = BTreeMap::new();
        for event in recording.events.iter().filter(|event| event.name == "[memory]") {
            let (bytes, address) = (event.int("Bytes").unwrap(), event.int("Addr").unwrap());
            let before = if bytes > 0 { blocks.insert(address, bytes) } else { blocks.remove(&address) };
            assert_eq!(before, if bytes > 0 { None } else { Some(-bytes) });
            assert!(event.int("Total Allocated") <= event.int("Total Reserved"));
        }
        assert!(blocks.is_empty());
    }
}
