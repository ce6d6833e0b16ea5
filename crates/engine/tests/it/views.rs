//! The views, on numbers that were worked out by hand.

use std::collections::BTreeSet;
use std::fs;

use stepscope_engine::{Engine, views};
use stepscope_model::tables::{SPANS, TRACKS};
use stepscope_store::Store;

use crate::fixture::{Row, Value, ask, check, commit, open, small_engine};

#[test]
fn every_sql_file_is_listed_and_documented() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/src/sql");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let listed: BTreeSet<_> = views().iter().map(|view| view.name.to_owned()).collect();
    assert_eq!(files, listed);

    let (_folder, engine) = small_engine();
    for view in Engine::views() {
        assert!(view.doc.starts_with("One row ") && view.doc.ends_with('.'), "{}: {}", view.name, view.doc);
        let documented: Vec<_> = view.columns.iter().map(|(name, _)| *name).collect();
        let columns = engine.columns_of(view.name).unwrap();
        let columns: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(documented, columns, "{}", view.name);
        for (name, doc) in &view.columns {
            assert!(doc.ends_with('.'), "{}.{name}: {doc}", view.name);
        }
    }
}

#[test]
fn types_are_named_as_in_the_schema() {
    let (_folder, engine) = small_engine();
    let columns = engine.columns_of("kernels_by_name").unwrap();
    let columns: Vec<_> = columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    let want = "rank int32, window int32, name text, class text, calls int64, total_ns int64, min_ns int64, \
                max_ns int64, mean_ns float64";
    assert_eq!(columns.join(", "), want);
    assert_eq!(engine.columns_of("steps").unwrap().last().unwrap(), &("samples".to_owned(), "int64".to_owned()));
    assert!(engine.columns_of("nothing").unwrap_err().to_string().contains("nothing"));
}

#[test]
fn device_events() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT span_id, start_ns, end_ns, dur_ns, kind, class, name, operator_id FROM device_events
         WHERE rank = 0 AND window = 1 ORDER BY span_id",
        &[
            "7|1040|1070|30|kernel|compute|gemm|1",
            "8|1060|1080|20|memcpy|memcpy|HtoD|0",
            "9|1070|1120|50|kernel|communication|ncclKernel|null",
            "10|1300|1300|0|kernel|compute|null|null",
            "11|1310|1314|4|kernel|compute|gemm|null",
        ],
    );
    check(
        &engine,
        "SELECT class, count(*) FROM device_events GROUP BY class ORDER BY class",
        &["communication|3", "compute|9", "memcpy|3"],
    );
}

#[test]
fn device_launches_join_inside_their_source() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT span_id, launch_name, launch_start_ns, delay_ns, owner_name, operator_name FROM device_launches
         WHERE rank = 5 ORDER BY span_id",
        &[
            "7|cudaLaunchKernel|2015|25|aten::mm|aten::mm",
            "8|cudaMemcpyAsync|2050|10|aten::linear|aten::linear",
            "9|cudaLaunchKernel|2210|-140|nccl:all_reduce|null",
            "10|null|null|null|null|null",
            "11|null|null|null|null|null",
        ],
    );
    check(&engine, "SELECT count(*) FROM device_launches", &["15"]);
}

#[test]
fn host_ops() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT name, start_ns, end_ns, self_ns, parent_op_name FROM host_ops WHERE rank = 0 ORDER BY start_ns",
        &[
            "aten::linear|0|100|70|null",
            "aten::mm|10|30|10|aten::linear",
            "aten::linear|1000|1100|70|null",
            "aten::mm|1010|1030|10|aten::linear",
        ],
    );
}

#[test]
fn runtime_calls_and_thread_spans() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT name, count(*), sum(dur_ns), min(correlation) FROM runtime_calls GROUP BY name ORDER BY name",
        &["cudaLaunchKernel|6|45|1", "cudaMemcpyAsync|3|30|2"],
    );
    check(
        &engine,
        "SELECT track_type, thread_name, count(*), max(end_ns) FROM thread_spans
         GROUP BY track_type, thread_name ORDER BY track_type",
        &["stream|stream 7|15|2314", "thread|main|21|2267"],
    );
}

#[test]
fn breakdown_spans() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT priority, class, count(*) FROM breakdown_spans WHERE rank = 5 GROUP BY priority, class ORDER BY priority",
        &["1|kernel|3", "2|memcpy|1", "4|communication|1", "5|runtime|3", "7|cpu_exec|3"],
    );
}

#[test]
fn kernels_by_name() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT name, class, calls, total_ns, min_ns, max_ns, mean_ns FROM kernels_by_name
         WHERE rank = 0 AND window = 0 ORDER BY total_ns DESC",
        &["ncclKernel|communication|1|50|50|50|50.0", "gemm|compute|2|34|4|30|17.0", "null|compute|1|0|0|0|0.0"],
    );
}

#[test]
fn ops_by_name() {
    let (_folder, engine) = small_engine();
    check(
        &engine,
        "SELECT rank, window, name, calls, host_self_ns, host_total_ns, device_events, device_self_ns FROM ops_by_name
         ORDER BY rank, window, name",
        &[
            "0|0|aten::linear|1|70|100|1|20",
            "0|0|aten::mm|1|10|20|1|30",
            "0|1|aten::linear|1|70|100|1|20",
            "0|1|aten::mm|1|10|20|1|30",
            "5|0|aten::linear|1|70|100|1|20",
            "5|0|aten::mm|1|10|20|1|30",
        ],
    );
}

/// A track of a thread, and the spans on it: kind, name, and columns beside these.
type Thread = (Row, Vec<(&'static str, &'static str, Row)>);

#[test]
fn thread_roles() {
    use Value::{I, T};
    let op = |name| ("op", name, Row::new());
    let backward = |name| ("op", name, Row::from([("forward_id", I(0))]));
    let thread = |process: &'static str, thread: &'static str, name: Option<&'static str>| {
        let mut row = Row::from([("type", T("thread")), ("process", T(process)), ("thread", T(thread))]);
        row.extend(name.map(|name| ("thread_name", T(name))));
        row
    };
    let of = |threads: Vec<Thread>| {
        let (mut tracks, mut spans) = (Vec::new(), Vec::new());
        for (number, (mut track, on_it)) in threads.into_iter().enumerate() {
            track.insert("track_id", I(number as i64));
            tracks.push(track);
            for (kind, name, more) in on_it {
                let mut row = Row::from([("kind", T(kind)), ("name", T(name)), ("phase", T("X"))]);
                row.extend([("span_id", I(spans.len() as i64)), ("track_id", I(number as i64)), ("step", I(0))]);
                row.extend(more);
                spans.push(row);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        commit(&store, 0, 0, &[(&SPANS, spans), (&TRACKS, tracks)]);
        ask(&open(&store), "SELECT track_id, role, role_from FROM thread_roles ORDER BY track_id").unwrap()
    };
    // Marks of steps tell; backward operators on the thread of the loop do not make it another.
    let marked = of(vec![
        (thread("7", "9", None), vec![backward("MmBackward0"), backward("AddBackward0")]),
        (thread("7", "8", None), vec![("ann", "ProfilerStep#3", Row::new()), op("aten::mm"), backward("AddBackward0")]),
    ]);
    assert_eq!(marked, ["0|autograd thread|backward_operators", "1|main thread|step_marks"]);
    // The first thread of a process has its number, whatever else has more operators.
    let numbered = of(vec![
        (thread("7", "7", None), vec![op("aten::mm")]),
        (thread("7", "9", Some("thread 9 (pt_autograd_0)")), vec![op("aten::mm"), op("aten::add")]),
        (thread("7", "10", None), vec![op("aten::pin_memory")]),
        (thread("7", "11", None), vec![op("aten::stack")]),
    ]);
    let want =
        ["0|main thread|process_id", "1|autograd thread|thread_name", "2|pin-memory thread|pin_memory_operators"];
    assert_eq!(numbered, want);
    // A loop of the loader, and a thread that has the most operators.
    let frames = of(vec![
        (thread("7", "1", None), vec![("py", "worker.py(210): _worker_loop", Row::new()), op("aten::stack")]),
        (thread("7", "2", None), vec![op("aten::mm"), op("aten::add")]),
        (thread("7", "3", None), vec![op("aten::mm")]),
        (thread("8", "4", None), vec![("rt", "cudaLaunchKernel", Row::new())]),
    ]);
    assert_eq!(frames, ["0|DataLoader worker|python_frames", "1|main thread|most_operators"]);
}
