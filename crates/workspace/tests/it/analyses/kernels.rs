//! Kernels.

use stepscope_model::Part;
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, by, cells, check, each_real, in_step, named, objects, reason, same, sum, table};
use crate::harness::{answer, open_text};

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

/// A product of 10 × 20 by 20 × 30 on the device and another on the host, a convolution that its library makes of a
/// product, two additions, a copy of 4 KiB, one without a size, and a collective of 1,000 floats.
fn categories() -> TraceBuilder {
    TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "500")
        .op("aten::mm", 1, "0", "5")
        .arg("Input Dims", "[[10, 20], [20, 30]]")
        .runtime("cudaLaunchKernel", 1, "1", "1", 1)
        .kernel("volta_sgemm_64x64_nt", 0, 7, "10", "30", 1)
        .op("aten::mm", 1, "6", "2")
        .arg("Input Dims", "[[100, 200], [200, 300]]")
        .op("aten::cudnn_convolution", 1, "10", "5")
        .runtime("cudaLaunchKernel", 1, "11", "1", 2)
        .kernel("volta_sgemm_64x64_nt", 0, 7, "40", "40", 2)
        .op("aten::add", 1, "20", "5")
        .runtime("cudaLaunchKernel", 1, "21", "1", 3)
        .kernel("void at::native::vectorized_elementwise_kernel<4, Add>(int)", 0, 7, "80", "5", 3)
        .op("aten::add", 1, "30", "5")
        .runtime("cudaLaunchKernel", 1, "31", "1", 4)
        .kernel("void at::native::vectorized_elementwise_kernel<4, Add>(int)", 0, 8, "90", "5", 4)
        .memcpy("Memcpy HtoD (Pageable -> Device)", 0, 9, "100", "4", 0)
        .arg("bytes", "4096")
        .memcpy("Memcpy HtoD (Pageable -> Device)", 0, 9, "105", "4", 0)
        .kernel("ncclDevKernel_AllReduce", 0, 9, "110", "8", 0)
        .arg("Collective name", "\"allreduce\"")
        .arg("In msg nelems", "1000")
        .arg("Out msg nelems", "1000")
        .arg("dtype", "\"Float\"")
}

#[test]
fn by_category() {
    let columns = "category kernels count total_ns min_ns max_ns size_bytes flops";
    let want = "convolution 1 1 40000 40000 40000 - -
                gemm 1 1 30000 30000 30000 - 12000
                elementwise 1 2 10000 5000 5000 - -
                communication 1 1 8000 8000 8000 4000 -
                copy 1 2 8000 4000 4000 4096 -";
    // From the sums of steps, and from the events of a stretch of time.
    check(&categories(), "kernels", &by(&["category"]), columns, want);
    let stretch = Question { to_ns: Some(500_000), ..by(&["category"]) };
    check(&categories(), "kernels", &stretch, columns, want);
    let by_stream = by(&["category", "stream"]);
    check(
        &categories(),
        "kernels",
        &by_stream,
        "category stream_id total_ns flops",
        "convolution 7 40000 -
         gemm 7 30000 -
         communication 9 8000 -
         copy 9 8000 -
         elementwise 7 5000 -
         elementwise 8 5000 -",
    );
    // With the operator, the kernels have names again.
    check(
        &categories(),
        "kernels",
        &by(&["category", "operator"]),
        "name category operator total_ns",
        "volta_sgemm_64x64_nt convolution aten::cudnn_convolution 40000
         volta_sgemm_64x64_nt gemm aten::mm 30000
         void at::native::vectorized_elementwise_kernel<4, Add>(int) elementwise aten::add 10000
         ncclDevKernel_AllReduce communication - 8000",
    );
    let report = ask(&open_text(&categories().finish()), "kernels", &by(&["category"]));
    assert_eq!(reason(&report, "rows[].flops"), Some("unsupported event kind"));
    assert_eq!(reason(&report, "rows[].size_bytes"), Some("argument not recorded: bytes"));
    let without_shapes = TraceBuilder::new().kernel("k", 0, 7, "0", "5", 0);
    let report = ask(&open_text(&without_shapes.finish()), "kernels", &by(&["category"]));
    assert_eq!(reason(&report, "rows[].flops"), Some("shapes not recorded"));
}

#[test]
fn categories_are_columns_in_sql() {
    let workspace = open_text(&categories().finish());
    let sql = "SELECT category, sum(dur_ns) FROM device_events GROUP BY category ORDER BY category";
    let want = "communication 8000\nconvolution 40000\ncopy 8000\nelementwise 10000\ngemm 30000";
    assert_eq!(answer(&workspace, sql), want);
    let sql = "SELECT category, sum(total_ns) FROM kernel_rollup GROUP BY category ORDER BY category";
    let want = "communication 8000\nconvolution 40000\nelementwise 10000\ngemm 30000";
    assert_eq!(answer(&workspace, sql), want);
}

#[test]
fn the_summary_says_what_the_device_is_busy_with() {
    let workspace = open_text(&categories().finish());
    let report = ask(&workspace, "summary", &Question::default());
    // What no step launched is not part of one.
    assert_eq!(
        cells(table(&report, "categories"), "category count total_ns share_ratio"),
        "convolution 1 40000 0.5\ngemm 1 30000 0.375\nelementwise 2 10000 0.125"
    );
    let host = TraceBuilder::new().op("aten::mm", 1, "0", "5");
    let report = ask(&open_text(&host.finish()), "summary", &Question::default());
    assert!(!report.parts.iter().any(|part| matches!(part, Part::Table(table) if table.name == "categories")));
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
#[ignore = "needs the corpus"]
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
        let copied = sum(metrics["copies"].as_array().unwrap(), "total_ns");
        let categories = objects(table(&ask(workspace, "kernels", &question(&["category"])), "rows"));
        assert_eq!(sum(&categories, "total_ns"), want["total_ns"].as_i64().unwrap() + copied, "{trace} by category");
        for groupings in [&["operator"][..], &["properties"], &["operator", "properties", "step", "stream", "device"]] {
            let grouped = objects(table(&ask(workspace, "kernels", &question(groupings)), "rows"));
            assert_eq!(sum(&grouped, "total_ns"), want["total_ns"].as_i64().unwrap(), "{trace} by {groupings:?}");
        }
    });
}
