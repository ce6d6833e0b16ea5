//! Kernels.

use stepscope_analysis::Question;
use stepscope_testkit::TraceBuilder;

use super::{ask, between, by, check, each_real, in_step, named, objects, same, sum, table};

/// Two operators that launch `gemm` with different grids, one kernel without an operator.
fn kernels() -> TraceBuilder {
    TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "50")
        .annotation("ProfilerStep#2", 1, "50", "50")
        .op("mm", 1, "0", "5")
        .runtime("cudaLaunchKernel", 1, "1", "1", 1)
        .kernel("gemm", 0, 7, "10", "10", 1)
        .arg("grid", "[8,1,1]")
        .arg("block", "[128,1,1]")
        .arg("registers per thread", "32")
        .arg("shared memory", "1024")
        .op("linear", 1, "60", "5")
        .runtime("cudaLaunchKernel", 1, "61", "1", 2)
        .kernel("gemm", 0, 7, "70", "30", 2)
        .arg("grid", "[16,1,1]")
        .arg("block", "[128,1,1]")
        .arg("registers per thread", "32")
        .arg("shared memory", "1024")
        .kernel("ncclDevKernel_AllReduce", 0, 8, "70", "5", 0)
}

#[test]
fn by_operator() {
    check(
        &kernels(),
        "kernels",
        &by(&["operator"]),
        "name operator count total_ns with_operator",
        "gemm linear 1 30000 1
         gemm mm 1 10000 1
         ncclDevKernel_AllReduce - 1 5000 0",
    );
}

#[test]
fn by_properties() {
    let columns = "name grid block registers_per_thread shared_memory_bytes count total_ns";
    check(
        &kernels(),
        "kernels",
        &by(&["properties"]),
        columns,
        "gemm [16,1,1] [128,1,1] 32 1024 1 30000
         gemm [8,1,1] [128,1,1] 32 1024 1 10000
         ncclDevKernel_AllReduce - - - - 1 5000",
    );
    // The same grid with other registers is another row; rows with equal times keep an order.
    let trace = TraceBuilder::new().kernel("k", 0, 7, "0", "5", 0).arg("registers per thread", "40");
    let trace = trace.kernel("k", 0, 7, "10", "5", 0).arg("registers per thread", "16");
    check(&trace, "kernels", &by(&["properties"]), "name registers_per_thread count", "k 16 1\nk 40 1");
}

#[test]
fn a_step_is_that_of_the_launch_and_a_stretch_of_time_that_of_the_kernel() {
    let columns = "name count total_ns share_ratio is_communication";
    check(
        &kernels(),
        "kernels",
        &Question::default(),
        columns,
        "gemm 2 40000 0.8888888888888888 false\nncclDevKernel_AllReduce 1 5000 0.1111111111111111 true",
    );
    check(&kernels(), "kernels", &in_step(1), columns, "gemm 1 10000 1 false");
    check(
        &kernels(),
        "kernels",
        &between(70, 71),
        columns,
        "gemm 1 30000 0.8571428571428571 false\nncclDevKernel_AllReduce 1 5000 0.14285714285714285 true",
    );
    check(&kernels(), "kernels", &between(11, 70), columns, "");
    check(&kernels(), "kernels", &by(&["step"]), "name step count", "gemm 1 1\ngemm 0 1\nncclDevKernel_AllReduce - 1");
}

#[test]
fn real_traces_have_the_kernels_of_their_metrics() {
    let traces = ["kineto/resnet50_num_workers_0", "hta/ns_resolution_trace", "tracelens/b200/eager_trace.json.gz"];
    each_real(&traces, |trace, workspace, metrics| {
        let question = |groupings: &[&str]| Question { window: Some(0), ..by(groupings) };
        let rows = objects(table(&ask(workspace, "kernels", &question(&[])), "rows"));
        let want = &metrics["kernels"];
        assert_eq!(
            (rows.len() as u64, sum(&rows, "count")),
            (want["distinct"].as_u64().unwrap(), want["count"].as_i64().unwrap())
        );
        let figures = [
            "count",
            "total_ns",
            "mean_ns",
            "min_ns",
            "p50_ns",
            "p90_ns",
            "p99_ns",
            "max_ns",
            "blocks_per_sm",
            "occupancy_ratio",
        ];
        for kernel in want["rows"].as_array().unwrap() {
            same(named(&rows, &kernel["name"]), kernel, &figures, trace);
        }
        for groupings in [&["operator"][..], &["properties"], &["operator", "properties", "step", "stream", "device"]] {
            let grouped = objects(table(&ask(workspace, "kernels", &question(groupings)), "rows"));
            assert_eq!(sum(&grouped, "total_ns"), want["total_ns"].as_i64().unwrap(), "{trace} by {groupings:?}");
        }
    });
}
