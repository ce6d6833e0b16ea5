//! Who encloses whom, and self time (metrics, section 3).

use stepscope_model::tables::SPANS;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

const TREE: &str = "name parent_id.name parent_op_id.name depth self_ns";
const FRAMES: &str = "name parent_id.name python_parent_id.name module_id.name depth self_ns";

/// A Python frame on thread 1.
fn frame(trace: TraceBuilder, name: &str, ts: &str, dur: &str) -> TraceBuilder {
    trace.complete("python_function", name, TraceBuilder::HOST_PROCESS, 1, ts, dur)
}

#[test]
fn self_time_is_without_children_seen_through_annotations() {
    let trace = TraceBuilder::new()
        .op("outer", 1, "0", "100")
        .annotation("label", 1, "10", "50")
        .op("inner", 1, "20", "10")
        .runtime("cudaLaunchKernel", 1, "22", "3", 0)
        .complete("cuda_driver", "cuLaunchKernel", TraceBuilder::HOST_PROCESS, 1, "23", "1")
        .op("second", 1, "40", "5");
    tables(&trace).rows(&SPANS).check(
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
    let trace = TraceBuilder::new()
        .op("top", 1, "0", "100")
        .op("a", 1, "10", "30")
        .op("b", 1, "20", "40")
        .op("c", 1, "25", "5");
    let tables = tables(&trace);
    tables.rows(&SPANS).check(
        TREE,
        "top - - 0 50000
         a top top 1 30000
         b top top 1 35000
         c b b 2 5000",
    );
    assert_eq!(tables.health("crossing_spans"), "1");
}

#[test]
fn ids_beyond_64_bits_are_ordered_like_others() {
    // In the file the other way round; one without an id is innermost.
    let ids = ["18446744073709551618", "18446744073709551617", "9223372036854775808", "3", "-36893488147419103232"];
    let mut trace = TraceBuilder::new().op("none", 1, "1", "5");
    for id in ids {
        trace = trace.op(&format!("n{id}"), 1, "1", "5").arg("External id", id);
    }
    tables(&trace).rows(&SPANS).sorted_by("depth").check(
        "name self_ns",
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
    let trace = TraceBuilder::new()
        .runtime("call", 1, "5", "5", 0)
        .op("second", 1, "5", "5")
        .arg("External id", "9")
        .op("first", 1, "5", "5")
        .arg("External id", "4");
    let tables = tables(&trace);
    tables.rows(&SPANS).check(
        TREE,
        "first - - 0 0
         second first first 1 0
         call second second 2 5000",
    );
    assert_eq!(tables.health("crossing_spans"), "0", "spans that end together do not cross");
}

#[test]
fn touching_spans_are_neighbors_and_threads_are_apart() {
    // What begins at the very end is outside, even without a length.
    let trace = TraceBuilder::new()
        .op("a", 1, "0", "10")
        .op("b", 1, "10", "10")
        .op("moment", 1, "20", "0")
        .op("c", 2, "2", "3");
    let tables = tables(&trace);
    tables.rows(&SPANS).check(TREE, "a - - 0 10000\nb - - 0 10000\nmoment - - 0 0\nc - - 0 3000");
    assert_eq!(tables.health("crossing_spans"), "0");
}

#[test]
fn python_frames_are_a_second_tree_with_modules() {
    let trace = frame(TraceBuilder::new(), "main", "0", "100");
    let trace = frame(trace, "nn.Module: Linear_0", "10", "60").arg("Python module id", "0");
    let trace = frame(trace, "forward", "15", "50").op("aten::linear", 1, "20", "30");
    tables(&frame(trace, "hook", "25", "5")).rows(&SPANS).check(
        FRAMES,
        "main - - - 0 40000
         nn.Module: Linear_0 main main - 1 10000
         forward nn.Module: Linear_0 nn.Module: Linear_0 nn.Module: Linear_0 2 20000
         aten::linear - forward nn.Module: Linear_0 0 30000
         hook forward forward nn.Module: Linear_0 3 5000",
    );
}

#[test]
fn a_frame_in_an_operator_takes_time_from_no_one_else() {
    // The operator takes its time from the frame around it; its own self time knows no frames.
    let trace = frame(frame(TraceBuilder::new(), "before", "0", "10"), "caller", "10", "20");
    let trace = frame(trace.op("work", 1, "12", "10"), "callback", "14", "3");
    tables(&frame(trace, "after", "30", "5")).rows(&SPANS).check(
        FRAMES,
        "before - - - 0 10000
         caller - - - 0 10000
         work - caller - 0 10000
         callback caller caller - 1 3000
         after - - - 0 5000",
    );
}

#[test]
fn an_annotation_finds_its_frame_and_takes_no_time_from_it() {
    // The second one begins where the frame ends.
    let trace = frame(TraceBuilder::new(), "caller", "0", "10");
    let trace = trace.annotation("inside", 1, "2", "4").annotation("behind", 1, "10", "5");
    tables(&trace).rows(&SPANS).check(
        FRAMES,
        "caller - - - 0 10000
         inside - caller - 0 4000
         behind - - - 0 5000",
    );
}

#[test]
fn overlapping_events_of_a_stream_are_all_kept() {
    let trace = TraceBuilder::new().kernel("a", 0, 7, "0", "10", 0).kernel("b", 0, 7, "5", "10", 0);
    let tables = tables(&trace);
    tables.rows(&SPANS).check("name parent_id self_ns", "a - 10000\nb - 10000");
    assert_eq!(tables.health("same_stream_overlaps"), "1");
    assert_eq!(tables.health("same_stream_overlap_time_ns"), "5000");
    assert_eq!(tables.health("crossing_spans"), "0", "only host spans cross");
}

#[test]
fn device_events_do_not_nest() {
    let trace = TraceBuilder::new().kernel("long", 0, 7, "0", "10", 0).kernel("short", 0, 7, "2", "3", 0);
    tables(&trace).rows(&SPANS).check(TREE, "long - - 0 10000\nshort - - 0 3000");
}

#[test]
fn spans_of_other_kinds_nest_among_their_own() {
    let trace = TraceBuilder::new()
        .event(r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10}"#)
        .event(r#"{"ph":"B","name":"b","pid":1,"tid":1,"ts":2}"#)
        .event(r#"{"ph":"E","pid":1,"tid":1,"ts":6}"#);
    tables(&trace).rows(&SPANS).check(TREE, "a - - 0 6000\nb a - 1 4000");
}

#[test]
fn overhead_is_outside_of_the_operator_around_it() {
    let overhead = |trace: TraceBuilder, name: &str, ts: &str, dur: &str| {
        trace.complete("overhead", name, TraceBuilder::HOST_PROCESS, 1, ts, dur)
    };
    let trace = overhead(TraceBuilder::new().op("op", 1, "0", "100"), "flush", "10", "10");
    let tables = tables(&overhead(trace, "wait", "12", "2"));
    tables.rows(&SPANS).check(TREE, "op - - 0 100000\nflush - - 0 8000\nwait flush - 1 2000");
}
