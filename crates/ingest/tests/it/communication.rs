//! What is communication, and which rule says so (metrics, section 9).

use stepscope_model::tables::SPANS;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

#[test]
fn metadata_then_owner_then_name() {
    let mut trace = TraceBuilder::new()
        .annotation("nccl:all_reduce", 1, "0", "10")
        .op("record_param_comms", 1, "20", "10")
        .annotation("nccl:broadcast", 1, "40", "20")
        .op("aten::copy_", 1, "42", "10")
        .annotation("gloo:all_reduce", 1, "70", "10");
    for (correlation, call) in [(1, "1"), (2, "21"), (3, "43"), (4, "71"), (5, "90"), (6, "92")] {
        trace = trace.runtime("cudaLaunchKernel", 1, call, "1", correlation);
    }
    let trace = trace
        .kernel("ncclDevKernel_AllReduce", 0, 7, "100", "5", 1)
        .kernel("custom", 0, 7, "110", "5", 2)
        .kernel("elementwise", 0, 7, "120", "5", 3)
        .kernel("elementwise2", 0, 7, "130", "5", 4)
        .kernel("void multimem_all_reduce_kernel<float>", 0, 7, "140", "5", 5)
        .memcpy("Memcpy PtoP (Device -> Device)", 0, 7, "150", "5", 6)
        .kernel("named", 0, 7, "160", "5", 0)
        .arg("Collective name", "\"allreduce\"")
        .kernel("unnamed", 0, 7, "170", "5", 0)
        .arg("Collective name", "\"\"")
        .kernel("void deep_ep::layout::get_dispatch_layout<8>", 0, 7, "180", "5", 0);
    tables(&trace).rows(&SPANS).only("kind", "kernel memcpy").check(
        "kind comm_rule name",
        "kernel owner ncclDevKernel_AllReduce
         kernel owner custom
         kernel - elementwise
         kernel - elementwise2
         kernel name void multimem_all_reduce_kernel<float>
         memcpy - Memcpy PtoP (Device -> Device)
         kernel collective_name named
         kernel - unnamed
         kernel - void deep_ep::layout::get_dispatch_layout<8>",
    );
}
