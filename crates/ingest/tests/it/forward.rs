//! Forward and backward (metrics, section 10).

use stepscope_model::tables::SPANS;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

const LINKS: &str = "name forward_id.name forward_rule";

#[test]
fn arrows_lead_from_forward_to_backward() {
    let process = TraceBuilder::HOST_PROCESS;
    let trace = TraceBuilder::new()
        .op("linear", 1, "0", "10")
        .op("addmm", 1, "2", "5")
        .op("AddmmBackward0", 2, "50", "10")
        .flow("s", "fwdbwd", 1, process, 1, "2")
        .flow("f", "fwdbwd", 1, process, 2, "50");
    tables(&trace).rows(&SPANS).check(LINKS, "linear - -\naddmm - -\nAddmmBackward0 addmm flow");
}

#[test]
fn without_arrows_the_sequence_number_decides_unless_two_threads_share_it() {
    let op = |trace: TraceBuilder, name: &str, thread: i64, times: [&str; 2], number: &str, forward_thread: &str| {
        let trace = trace.op(name, thread, times[0], times[1]);
        trace.arg("Sequence number", number).arg("Fwd thread id", forward_thread)
    };
    let trace = op(TraceBuilder::new(), "linear", 1, ["0", "10"], "4", "0");
    let trace = op(op(trace, "addmm", 1, ["2", "5"], "4", "0"), "mul", 1, ["20", "5"], "5", "0");
    let trace = op(trace, "mul elsewhere", 3, ["20", "5"], "5", "0");
    let trace = op(trace, "AddmmBackward0", 2, ["50", "10"], "4", "1");
    let trace = op(trace, "MulBackward0", 2, ["70", "10"], "5", "1");
    tables(&trace)
        .rows(&SPANS)
        .only("name", "AddmmBackward0 MulBackward0")
        .check(LINKS, "AddmmBackward0 addmm sequence_number\nMulBackward0 - -");
}
