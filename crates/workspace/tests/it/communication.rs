//! What is communication, and which rule says so (metrics, section 9).

use stepscope_testkit::TraceBuilder;

use crate::harness::check;

#[test]
fn metadata_then_owner_then_name() {
    let trace = TraceBuilder::new();
    let trace = trace.complete("user_annotation", "nccl:all_reduce", 1, 1, "0", "10");
    let trace = trace.complete("cpu_op", "record_param_comms", 1, 1, "20", "10");
    let trace = trace.complete("user_annotation", "nccl:broadcast", 1, 1, "40", "20");
    let trace = trace.complete("cpu_op", "aten::copy_", 1, 1, "42", "10");
    let mut trace = trace.complete("user_annotation", "gloo:all_reduce", 1, 1, "70", "10");
    for (correlation, call) in [("1", "1"), ("2", "21"), ("3", "43"), ("4", "71"), ("5", "90"), ("6", "92")] {
        trace = trace.complete("cuda_runtime", "cudaLaunchKernel", 1, 1, call, "1").arg("correlation", correlation);
    }
    for (correlation, category, name, ts) in [
        ("1", "kernel", "ncclDevKernel_AllReduce", "100"),
        ("2", "kernel", "custom", "110"),
        ("3", "kernel", "elementwise", "120"),
        ("4", "kernel", "elementwise2", "130"),
        ("5", "kernel", "void multimem_all_reduce_kernel<float>", "140"),
        ("6", "gpu_memcpy", "Memcpy PtoP (Device -> Device)", "150"),
    ] {
        trace = trace.complete(category, name, 0, 7, ts, "5").arg("correlation", correlation);
    }
    trace = trace.complete("kernel", "named", 0, 7, "160", "5").arg("Collective name", "\"allreduce\"");
    trace = trace.complete("kernel", "unnamed", 0, 7, "170", "5").arg("Collective name", "\"\"");
    trace = trace.complete("kernel", "void deep_ep::layout::get_dispatch_layout<8>", 0, 7, "180", "5");
    check(
        &trace.finish(),
        "SELECT class, comm_rule FROM device_events ORDER BY start_ns",
        "communication owner
         communication owner
         compute -
         compute -
         communication name
         memcpy -
         communication collective_name
         compute -
         compute -",
    );
}
