//! Who encloses whom, and self time (metrics, section 3).

use stepscope_testkit::TraceBuilder;

use crate::harness::{check, op, open_text};

/// Names instead of numbers, so that the expected rows read by themselves.
const TREE: &str = "
    SELECT s.name, p.name AS parent, o.name AS parent_op, s.depth, s.self_ns
    FROM spans s LEFT JOIN spans p ON s.parent_id = p.span_id LEFT JOIN spans o ON s.parent_op_id = o.span_id
    ORDER BY s.span_id";

#[test]
fn self_time_is_without_children_seen_through_annotations() {
    let trace = op(TraceBuilder::new(), "outer", "0", "100");
    let trace = trace.complete("user_annotation", "label", 1, 1, "10", "50");
    let trace = op(trace, "inner", "20", "10").complete("cuda_runtime", "cudaLaunchKernel", 1, 1, "22", "3");
    let trace = trace.complete("cuda_driver", "cuLaunchKernel", 1, 1, "23", "1");
    let trace = op(trace, "second", "40", "5");
    check(
        &trace.finish(),
        TREE,
        "outer - - 0 85000
         label outer outer 1 35000
         inner label outer 2 7000
         cudaLaunchKernel inner inner 3 2000
         cuLaunchKernel cudaLaunchKernel inner 4 1000
         second label outer 2 5000",
    );
}

#[test]
fn a_crossing_span_ends_those_it_crosses() {
    // b starts inside a and ends after it, but inside top; c lies in both a and b, and is b's.
    let trace =
        op(op(op(op(TraceBuilder::new(), "top", "0", "100"), "a", "10", "30"), "b", "20", "40"), "c", "25", "5");
    let trace = trace.finish();
    check(
        &trace,
        TREE,
        "top - - 0 50000
         a top top 1 30000
         b top top 1 35000
         c b b 2 5000",
    );
    assert_eq!(open_text(&trace).metrics(None, None).unwrap()["health"]["crossing_spans"], 1);
}

#[test]
fn ids_beyond_64_bits_are_ordered_like_others() {
    // In the file the other way round; one without an id is innermost.
    let ids = ["18446744073709551618", "18446744073709551617", "9223372036854775808", "3", "-36893488147419103232"];
    let mut trace = op(TraceBuilder::new(), "none", "1", "5");
    for id in ids {
        trace = op(trace, &format!("n{id}"), "1", "5").arg("External id", id);
    }
    check(
        &trace.finish(),
        "SELECT name, self_ns FROM spans ORDER BY depth",
        "n-36893488147419103232 0
         n3 0
         n9223372036854775808 0
         n18446744073709551617 0
         n18446744073709551618 0
         none 5000",
    );
}

#[test]
fn equal_times_are_told_apart_by_kind_and_number() {
    // All three have the same extent: the call is innermost, the operator with the smaller External id outermost.
    let trace = TraceBuilder::new().complete("cuda_runtime", "call", 1, 1, "5", "5");
    let trace = op(trace, "second", "5", "5").arg("External id", "9");
    let trace = op(trace, "first", "5", "5").arg("External id", "4");
    check(
        &trace.finish(),
        TREE,
        "first - - 0 0
         second first first 1 0
         call second second 2 5000",
    );
}

#[test]
fn touching_spans_are_neighbours_and_threads_are_apart() {
    let trace = op(op(TraceBuilder::new(), "a", "0", "10"), "b", "10", "10").complete("cpu_op", "c", 1, 2, "2", "3");
    check(&trace.finish(), TREE, "a - - 0 10000\nb - - 0 10000\nc - - 0 3000");
}

#[test]
fn python_frames_are_a_second_tree_with_modules() {
    let trace = TraceBuilder::new()
        .complete("python_function", "main", 1, 1, "0", "100")
        .complete("python_function", "nn.Module: Linear_0", 1, 1, "10", "60")
        .arg("Python module id", "0")
        .complete("python_function", "forward", 1, 1, "15", "50");
    let trace = op(trace, "aten::linear", "20", "30").complete("python_function", "hook", 1, 1, "25", "5").finish();
    check(
        &trace,
        "SELECT s.name, p.name AS parent, f.name AS frame, m.name AS module, s.depth, s.self_ns
         FROM spans s LEFT JOIN spans p ON s.parent_id = p.span_id LEFT JOIN spans f ON s.python_parent_id = f.span_id
         LEFT JOIN spans m ON s.module_id = m.span_id ORDER BY s.span_id",
        "main - - - 0 40000
         nn.Module: Linear_0 main main - 1 10000
         forward nn.Module: Linear_0 nn.Module: Linear_0 nn.Module: Linear_0 2 20000
         aten::linear - forward nn.Module: Linear_0 0 30000
         hook forward forward nn.Module: Linear_0 3 5000",
    );
}

#[test]
fn overlapping_events_of_a_stream_are_all_kept() {
    let trace =
        TraceBuilder::new().complete("kernel", "a", 0, 7, "0", "10").complete("kernel", "b", 0, 7, "5", "10").finish();
    check(&trace, "SELECT name, parent_id, self_ns FROM spans ORDER BY span_id", "a - 10000\nb - 10000");
    let health = &open_text(&trace).metrics(None, None).unwrap()["health"];
    assert_eq!((&health["same_stream_overlaps"], &health["same_stream_overlap_time_ns"]), (&1.into(), &5000.into()));
}

#[test]
fn spans_of_other_kinds_nest_among_their_own() {
    let trace = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"B","name":"b","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":6}]"#;
    check(trace, TREE, "a - - 0 6000\nb a - 1 4000");
}
