//! Regions.

use serde_json::Value as Json;
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, by, cells, check, each_real, in_step, named, objects, reason, sentence, sum, table};
use crate::harness::{answer, lines, open, open_text, write};

const HOST: &str = "name count host_total_ns host_self_ns mean_ns p50_ns max_ns";
const DEVICE: &str = "name device_events device_total_ns device_self_ns";

fn work(trace: TraceBuilder, thread: i64, ts: &str, correlation: i64, dur: &str) -> TraceBuilder {
    trace.runtime("cudaLaunchKernel", thread, ts, "1", correlation).kernel("k", 0, 7, "500", dur, correlation)
}

#[test]
fn a_region_inside_another_of_its_name_counts_once() {
    // outer 0–100 holds block 10–60, which holds block 20–30; an operator takes 40–50 of the first block.
    let trace = TraceBuilder::new()
        .annotation("outer", 1, "0", "100")
        .annotation("block", 1, "10", "50")
        .annotation("block", 1, "20", "10")
        .op("mm", 1, "40", "10");
    let trace = work(work(work(trace, 1, "25", 1, "3"), 1, "45", 2, "5"), 1, "70", 3, "7");
    check(
        &trace,
        "regions",
        &Question::default(),
        HOST,
        // The block has 50 − 10 (inner block) − 10 (operator) of its own, the inner one 10 − 1 (call).
        "outer 1 100000 49000 100000 100000 100000
         block 2 50000 39000 30000 10000 50000",
    );
    check(&trace, "regions", &Question::default(), DEVICE, "outer 3 15000 7000\nblock 2 8000 8000");
}

#[test]
fn a_launch_belongs_to_the_regions_of_its_thread_that_are_open_when_it_starts() {
    let trace = TraceBuilder::new().annotation("a", 1, "10", "20").annotation("b", 1, "30", "10");
    // At the start of a; at the end of a, which is the start of b; behind both; on another thread.
    let trace = work(work(work(work(trace, 1, "10", 1, "1"), 1, "30", 2, "2"), 1, "40", 3, "4"), 2, "15", 4, "8");
    check(&trace, "regions", &Question::default(), DEVICE, "a 1 1000 1000\nb 1 2000 2000");
}

/// An operator of autograd on thread 2 that names its forward operator by a number.
fn backward(trace: TraceBuilder, ts: &str, dur: &str, number: &str) -> TraceBuilder {
    let name = "autograd::engine::evaluate_function: MmBackward0";
    trace.op(name, 2, ts, dur).arg("Sequence number", number).arg("Fwd thread id", "1")
}

/// Thread 1 runs a forward operator at 10, and waits in `backward` from 100 to 200 for what thread 2 launches.
fn training() -> TraceBuilder {
    let trace = TraceBuilder::new()
        .annotation("train", 1, "0", "300")
        .annotation("backward", 1, "100", "100")
        .annotation("nccl:all_reduce", 2, "155", "10")
        .op("aten::mm", 1, "10", "10")
        .arg("Sequence number", "5");
    let trace = work(work(trace, 1, "15", 1, "32"), 1, "101", 2, "1");
    // On the autograd thread: before its first link, below it, without a link after it, and when the region has ended.
    let trace = backward(work(trace, 2, "105", 3, "2"), "110", "20", "5");
    let trace = work(work(work(trace, 2, "115", 4, "8"), 2, "160", 5, "4"), 2, "205", 6, "16");
    // A thread that autograd has no part in.
    work(trace, 3, "120", 7, "64")
}

const ALL: &str = "name device_events device_total_ns all_threads_device_events all_threads_device_ns";

#[test]
fn a_region_counts_what_autograd_launches_for_its_thread() {
    let want = "train 2 33000 6 63000\nbackward 1 1000 4 15000\nnccl:all_reduce 1 4000 1 4000";
    check(&training(), "regions", &Question::default(), ALL, want);
    // What is inside both is not less than what is inside one.
    let nested = training().annotation("inside", 1, "102", "50");
    let want = "train 2 33000 6 63000
                backward 1 1000 4 15000
                inside 0 0 2 10000
                nccl:all_reduce 1 4000 1 4000";
    check(&nested, "regions", &Question::default(), ALL, want);
}

#[test]
fn launches_by_thread_name_the_thread_that_autograd_works_for() {
    // Another thread runs a forward operator, too; autograd turns to it at 170.
    let trace = training()
        .annotation("other backward", 4, "100", "200")
        .op("aten::mm", 4, "20", "10")
        .arg("Sequence number", "6");
    let trace = backward(trace, "170", "20", "6");
    let workspace = open_text(&trace.finish());
    let sql =
        "SELECT launch.start_ns, caller.thread, worked_for.thread, device_total_ns FROM launches_by_thread AS launch
         JOIN tracks AS caller ON caller.track_id = launch.track_id
         LEFT JOIN tracks AS worked_for ON worked_for.track_id = launch.for_track_id
         ORDER BY launch.start_ns";
    assert_eq!(
        answer(&workspace, sql),
        lines(
            "15000 1 - 32000
             101000 1 - 1000
             105000 2 1 2000
             115000 2 1 8000
             120000 3 - 64000
             160000 2 1 4000
             205000 2 4 16000"
        )
    );
    let report = ask(&workspace, "regions", &Question::default());
    let want = "train 2 33000 5 47000
                other backward 0 0 1 16000
                backward 1 1000 4 15000
                nccl:all_reduce 1 4000 1 4000";
    assert_eq!(cells(table(&report, "rows"), ALL), lines(want));
}

#[test]
fn autograd_of_one_rank_does_not_work_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank: i64, trace: TraceBuilder| {
        let trace = trace.header("distributedInfo", &format!("{{\"rank\": {rank}, \"world_size\": 2}}"));
        write(folder.path(), &format!("rank{rank}.json"), &trace.finish())
    };
    // Rank 1 has regions and no autograd thread.
    let alone = work(TraceBuilder::new().annotation("backward", 1, "100", "100"), 1, "101", 1, "3");
    let workspace = open(&[rank(0, training()), rank(1, alone)]).unwrap();
    let report = ask(&workspace, "regions", &by(&["rank"]));
    let rows = cells(table(&report, "rows"), "name rank device_total_ns all_threads_device_ns");
    assert!(rows.contains("backward 0 1000 15000") && rows.contains("backward 1 3000 3000"), "{rows}");
}

#[test]
fn regions_that_cross_both_hold_what_is_in_both() {
    let trace = TraceBuilder::new().annotation("a", 1, "0", "20").annotation("b", 1, "10", "20");
    let trace = work(work(trace, 1, "15", 1, "1"), 1, "25", 2, "2");
    check(&trace, "regions", &Question::default(), DEVICE, "a 1 1000 0\nb 2 3000 3000");
}

#[test]
fn threads_at_once_share_the_time_of_a_step() {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "100")
        .annotation("copy", 2, "0", "80")
        .annotation("copy", 3, "10", "80");
    let report = ask(&open_text(&trace.finish()), "regions", &Question::default());
    let rows = table(&report, "rows");
    assert_eq!(cells(rows, "name host_total_ns share_ratio"), "copy 160000 0.9");
}

#[test]
fn steps_are_no_regions_but_what_they_are_compared_with() {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "50")
        .annotation("ProfilerStep#2", 1, "50", "150")
        .annotation("forward", 1, "10", "20")
        .annotation("forward", 1, "60", "40")
        // Outside the steps: in its total, not in its share.
        .annotation("forward", 1, "300", "10");
    let columns = "name step count host_total_ns share_ratio";
    check(&trace, "regions", &Question::default(), columns, "forward - 3 70000 0.3");
    check(&trace, "regions", &in_step(2), columns, "forward - 1 40000 0.26666666666666666");
    check(
        &trace,
        "regions",
        &by(&["step"]),
        columns,
        "forward 1 1 40000 0.26666666666666666\nforward 0 1 20000 0.4\nforward - 1 10000 -",
    );
    // Of the stretch from 55 to 155 µs, all lies in the second step.
    check(&trace, "regions", &between(55, 155), columns, "forward - 1 40000 0.4");
}

#[test]
fn without_regions_or_devices_there_is_a_reason() {
    let report = ask(&open_text(&TraceBuilder::new().op("a", 1, "0", "5").finish()), "regions", &Question::default());
    assert_eq!(sentence(&report), "No regions. Mark them with torch.profiler.record_function.");
    let trace = TraceBuilder::new().annotation("a", 1, "0", "5");
    let report = ask(&open_text(&trace.finish()), "regions", &Question::default());
    assert_eq!(cells(table(&report, "rows"), "device_events device_total_ns"), "- -");
    assert_eq!(reason(&report, "rows[].device_total_ns"), Some("no device events"));
}

#[test]
#[ignore = "needs the corpus"]
fn real_traces_have_no_more_device_time_in_regions_than_in_all() {
    let traces =
        ["kineto/resnet50_num_workers_0", "hta/ns_resolution_trace", "tracelens/mi300/resnet_act_checkpoint.json.gz"];
    each_real(&traces, |trace, workspace, metrics| {
        let question = Question { window: Some(0), ..Question::default() };
        let rows = objects(table(&ask(workspace, "regions", &question), "rows"));
        assert!(!rows.is_empty(), "{trace}");
        let all =
            metrics["kernels"]["total_ns"].as_i64().unwrap() + sum(metrics["copies"].as_array().unwrap(), "total_ns");
        let own = sum(&rows, "device_self_ns");
        assert!(own <= all, "{trace}: {own} of {all}");
        for row in &rows {
            assert!(row["device_total_ns"].as_i64() >= row["device_self_ns"].as_i64(), "{trace}: {row}");
            assert!(row["all_threads_device_ns"].as_i64() >= row["device_total_ns"].as_i64(), "{trace}: {row}");
            assert!(row["all_threads_device_ns"].as_i64() <= Some(all), "{trace}: {row}");
            assert!(!row["name"].as_str().unwrap().starts_with("ProfilerStep#"), "{trace}");
        }
        let by_step =
            objects(table(&ask(workspace, "regions", &Question { window: Some(0), ..by(&["step"]) }), "rows"));
        let figures = ["count", "host_total_ns", "host_self_ns", "device_events", "device_total_ns"];
        for figure in figures.into_iter().chain(["all_threads_device_events", "all_threads_device_ns"]) {
            assert_eq!(sum(&by_step, figure), sum(&rows, figure), "{trace}: {figure}");
        }
    });
}

#[test]
#[ignore = "needs the corpus"]
fn a_real_backward_region_has_the_work_of_the_autograd_thread() {
    // Of control's 244.6 ms in `## backward ##`, its own thread launches a few microseconds.
    for trace in ["hta/trace_diff/control/control.json.gz", "hta/ns_resolution_trace"] {
        each_real(&[trace], |trace, workspace, _| {
            let rows = objects(table(&ask(workspace, "regions", &Question::default()), "rows"));
            let row = named(&rows, &Json::from("## backward ##"));
            let figure = |name: &str| row[name].as_i64().unwrap();
            let (own, all, host) =
                (figure("device_total_ns"), figure("all_threads_device_ns"), figure("host_total_ns"));
            assert!(own < host / 20 && all > host / 4, "{trace}: {own} and {all} of {host}");
        });
    }
}
