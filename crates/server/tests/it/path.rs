//! The critical path: as a lane, by its longest pieces, and the changes that it can be replayed with.

use serde_json::json;

use crate::harness::{Inside, rows, small_trace};

#[test]
fn the_path_of_a_step_is_a_lane_without_gaps() {
    let inside = Inside::new(&small_trace());
    let piece = |start: i64, dur: i64, class: &str, name: &str| {
        (0, start * 1000, dur * 1000, dur * 1000, 1, class.to_owned(), name.to_owned())
    };
    // The host ends the step: the device is done before.
    let want = [
        piece(0, 10, "other", ""),
        piece(10, 10, "cpu_exec", "aten::mm"),
        piece(20, 5, "runtime", "cudaLaunchKernel"),
        piece(25, 35, "cpu_exec", "aten::mm"),
        piece(60, 40, "other", ""),
    ];
    assert_eq!(rows(&inside, "/api/runs/job/timeline/path?rank=0&window=0"), want);
    let part = rows(&inside, "/api/runs/job/timeline/path?rank=0&window=0&from=21000&to=26000&width=100");
    assert_eq!(part, want[2..4]);
}

#[test]
fn a_trace_that_is_cut_has_an_empty_lane() {
    let trace = small_trace();
    let inside = Inside::new(&trace[..trace.len() - 20]);
    assert_eq!(rows(&inside, "/api/runs/job/timeline/path?rank=0&window=0"), []);
}

#[test]
fn the_longest_piece_is_found_by_class_operator_and_name() {
    let inside = Inside::new(&small_trace());
    let check = |part: &str, start: i64, dur: i64| {
        let found = inside.json(&format!("/api/runs/job/path/longest?rank=0&window=0&{part}"));
        assert_eq!((&found["start_ns"], &found["dur_ns"]), (&json!(start * 1000), &json!(dur * 1000)), "{part}");
        assert!(found["span_id"].is_i64(), "{part}: {found}");
    };
    check("class=other", 60, 40);
    check("class=other&name=", 60, 40);
    check("class=runtime&name=cudaLaunchKernel", 20, 5);
    check("operator=aten::mm", 25, 35);
    check("operator=(no operator)", 60, 40);
    // The kernel is not on the path.
    assert_eq!(inside.get("/api/runs/job/path/longest?rank=0&window=0&kernel=gemm").status, 404);
}

#[test]
fn changes_are_listed_with_their_bounds() {
    let report = Inside::new(&small_trace()).json("/api/changes");
    let table = &report["parts"][0];
    let place = |name: &str| {
        let columns = table["columns"].as_array().unwrap();
        columns.iter().position(|column| column["name"] == name).unwrap()
    };
    let no_sync = table["rows"].as_array().unwrap().iter().find(|row| row[place("name")] == "no_sync").unwrap();
    assert_eq!((&no_sync[place("option")], &no_sync[place("bound")]), (&json!("--no-sync"), &json!("at most")));
}
