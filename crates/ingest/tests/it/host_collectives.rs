//! Collectives that the host transfers itself, as with gloo (metrics, section 14).

use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

const ONE_GROUP: &str = r#"{"pg_name": "0", "backend_config": "cpu:gloo", "ranks": [0, 1]}"#;
const ANOTHER_GROUP: &str = r#"{"pg_name": "1", "backend_config": "cpu:gloo", "ranks": [0]}"#;

/// A trace of a rank that belongs to some groups, with two steps of 100 µs.
fn rank(groups: &[&str]) -> TraceBuilder {
    let groups = groups.join(", ");
    TraceBuilder::new()
        .header("distributedInfo", &format!("{{\"rank\": 0, \"world_size\": 2, \"pg_config\": [{groups}]}}"))
        .annotation("ProfilerStep#1", 9, "0", "100")
        .annotation("ProfilerStep#2", 9, "100", "100")
}

/// A call for a collective.
fn call(trace: TraceBuilder, name: &str, ts: &str) -> TraceBuilder {
    trace.op(&format!("c10d::{name}_"), 1, ts, "1")
}

/// A collective on a thread of the library.
fn work(trace: TraceBuilder, name: &str, ts: &str) -> TraceBuilder {
    trace.annotation(&format!("gloo:{name}"), 2, ts, "5")
}

#[track_caller]
fn check(trace: &TraceBuilder, columns: &str, want: &str) {
    tables(trace).rows(&ALL_COLLECTIVES).sorted_by("start_ns").check(columns, want);
}

#[test]
fn the_group_comes_from_the_header_and_the_bytes_from_the_shapes() {
    // The first input is no tensor.
    let trace = work(rank(&[ONE_GROUP]), "all_reduce", "10");
    let trace = trace.arg("Input Dims", "[[], [1000]]").arg("Input type", "[\"TensorList\", \"float\"]");
    let trace = work(trace, "wait", "20");
    check(
        &trace,
        "collective named_by is_host kernel dur_ns process_group group_size dtype message_bytes bytes_from device_id",
        "all_reduce span_name true gloo:all_reduce 5000 0 2 float 4000 input shapes -
         unknown span_name true gloo:wait 5000 0 2 - - - -",
    );
    check(&trace, "process_group_ranks", "[0, 1]\n[0, 1]");
}

#[test]
fn a_collective_belongs_to_the_step_of_its_call() {
    // The first was called in the first step and began in the second.
    let trace = call(call(rank(&[ONE_GROUP]), "allreduce", "90"), "allreduce", "150");
    let trace = work(work(trace, "all_reduce", "110"), "all_reduce", "160");
    check(&trace, "collective step launch_ns start_ns", "all_reduce 0 90000 110000\nall_reduce 1 150000 160000");
}

#[test]
fn a_call_behind_its_collective_is_not_the_one_that_asked_for_it() {
    // A call may begin together with what it asks for.
    let trace = call(call(rank(&[ONE_GROUP]), "allreduce", "60"), "allreduce", "160");
    let trace = work(work(trace, "all_reduce", "50"), "all_reduce", "160");
    check(&trace, "step launch_ns", "0 50000\n1 160000");
}

#[test]
fn calls_count_where_there_are_as_many_as_collectives_of_the_kind() {
    let trace = call(call(rank(&[ONE_GROUP]), "allreduce", "10"), "broadcast", "12");
    // One barrier too many, and a call without a collective.
    let trace = call(call(trace, "barrier", "14"), "reduce_scatter", "16");
    let trace = work(work(trace, "all_reduce", "20"), "broadcast", "30");
    let trace = work(work(work(trace, "barrier", "40"), "barrier", "50"), "wait", "60");
    check(
        &trace,
        "kernel launch_ns",
        "gloo:all_reduce 10000
         gloo:broadcast 12000
         gloo:barrier 40000
         gloo:barrier 50000
         gloo:wait 60000",
    );
}

#[test]
fn only_what_all_ranks_do_in_one_order_is_numbered() {
    let collectives = |groups: &[&str]| {
        let names = ["all_reduce", "send", "recv", "broadcast"].into_iter().enumerate();
        names.fold(rank(groups), |trace, (place, name)| work(trace, name, &(place * 10).to_string()))
    };
    let columns = "kernel ordinal";
    let numbered = "gloo:all_reduce 0\ngloo:send -\ngloo:recv -\ngloo:broadcast 1";
    check(&collectives(&[ONE_GROUP]), columns, numbered);
    // Older recordings list no groups.
    check(&collectives(&[]), columns, numbered);
    // Nothing says which of two groups a collective is for.
    let none = "gloo:all_reduce -\ngloo:send -\ngloo:recv -\ngloo:broadcast -";
    check(&collectives(&[ONE_GROUP, ANOTHER_GROUP]), columns, none);
}

#[test]
fn host_and_device_are_numbered_apart() {
    let trace = work(rank(&[ONE_GROUP]), "all_reduce", "10").runtime("cudaLaunchKernel", 1, "20", "1", 7);
    let trace = trace.kernel("ncclDevKernel_AllReduce", 0, 7, "30", "5", 7);
    let trace = trace.arg("Collective name", "\"allreduce\"").arg("Process Group Name", "\"0\"");
    check(&trace, "process_group is_host ordinal", "0 true 0\n0 false 0");
}
