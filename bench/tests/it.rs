//! The command itself, as CI runs it.

use std::process::Command;

use serde_json::Value;
use stepscope_testkit::TraceBuilder;

#[test]
fn copies_of_a_trace_follow_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let (one, three) = (folder.path().join("one.json"), folder.path().join("three.json"));
    let trace = TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "100").op("aten::mm", 1, "10", "50");
    std::fs::write(&one, trace.runtime("cudaLaunchKernel", 1, "20", "5", 7).kernel("k", 0, 7, "40", "30", 7).finish())
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_stepscope-bench"))
        .args(["amplify", one.to_str().unwrap(), "3", "--out", three.to_str().unwrap()])
        .args(["--scratch", folder.path().to_str().unwrap(), "--corpus", folder.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: Value = serde_json::from_slice(&std::fs::read(&three).unwrap()).unwrap();
    let events = made["traceEvents"].as_array().unwrap();
    let starts = |name: &str| -> Vec<f64> {
        let mut starts: Vec<f64> = events
            .iter()
            .filter(|event| event["name"].as_str() == Some(name))
            .map(|event| event["ts"].as_f64().unwrap())
            .collect();
        starts.sort_by(f64::total_cmp);
        starts
    };
    let (calls, kernels) = (starts("cudaLaunchKernel"), starts("k"));
    assert_eq!((calls.len(), kernels.len()), (3, 3));
    assert!(calls.windows(2).all(|pair| pair[1] - pair[0] >= 100.0), "{calls:?}");
    assert!(
        calls.iter().zip(&kernels).all(|(call, kernel)| (kernel - call - 20.0).abs() < 0.001),
        "{calls:?} {kernels:?}"
    );
}

#[test]
fn uploads_survive_kills_and_faults() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_stepscope-bench"))
        .args(["uploads", "--sources", "16", "--kills", "4", "--processes", "4", "--seed", "2"])
        .args(["--scratch", folder.path().to_str().unwrap(), "--json", folder.path().join("rows").to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(folder.path().join("rows")).unwrap()).unwrap();
    let figure = |what: &str| {
        let row = document["rows"].as_array().unwrap().iter().find(|row| row["what"] == what);
        row.and_then(|row| row["figure"].as_f64())
    };
    assert_eq!(figure("rough: sources acknowledged"), Some(16.0));
    assert_eq!(figure("rough: acknowledged and not in the bucket"), Some(0.0));
    assert_eq!(figure("rough: processes killed"), Some(4.0));
    assert!(figure("rough: requests broken") > Some(0.0));
    assert_eq!(figure("calm: PUT requests per source"), Some(1.0));
}

#[test]
fn compaction_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_stepscope-bench"))
        .args(["compaction", "--packs", "60", "--kills", "5", "--seed", "3"])
        .args(["--scratch", folder.path().to_str().unwrap(), "--json", folder.path().join("rows").to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(folder.path().join("rows")).unwrap()).unwrap();
    let figure = |what: &str| {
        let row = document["rows"].as_array().unwrap().iter().find(|row| row["what"] == what);
        row.and_then(|row| row["figure"].as_f64())
    };
    // Three of the packs are of recordings that came in another depth too.
    assert_eq!(figure("sources in exactly one block"), Some(57.0));
    assert_eq!(figure("tables that differ between blocks and packs"), Some(0.0));
    assert_eq!(figure("wrong answers and errors of readers"), Some(0.0));
    assert_eq!(figure("compactors killed"), Some(5.0));
}
