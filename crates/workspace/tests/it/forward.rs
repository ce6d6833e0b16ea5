//! Forward and backward (metrics, section 10).

use stepscope_testkit::TraceBuilder;

use crate::harness::{check, op};

const LINKS: &str = "
    SELECT b.name, f.name AS forward, b.forward_rule FROM spans b LEFT JOIN spans f ON b.forward_id = f.span_id
    WHERE b.kind = 'op' ORDER BY b.span_id";

#[test]
fn arrows_lead_from_forward_to_backward() {
    let trace = op(op(TraceBuilder::new(), "linear", "0", "10"), "addmm", "2", "5");
    let trace = trace.complete("cpu_op", "AddmmBackward0", 1, 2, "50", "10");
    let trace = trace
        .event(r#"{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":1,"tid":1,"ts":2}"#)
        .event(r#"{"ph":"f","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":1,"tid":2,"ts":50,"bp":"e"}"#);
    check(&trace.finish(), LINKS, "linear - -\naddmm - -\nAddmmBackward0 addmm flow");
}

#[test]
fn without_arrows_the_sequence_number_decides_unless_two_threads_share_it() {
    let sequence = |trace: TraceBuilder, number: &str, thread: &str| {
        trace.arg("Sequence number", number).arg("Fwd thread id", thread)
    };
    let trace = sequence(op(TraceBuilder::new(), "linear", "0", "10"), "4", "0");
    let trace = sequence(op(trace, "addmm", "2", "5"), "4", "0");
    let trace = sequence(op(trace, "mul", "20", "5"), "5", "0");
    let trace = sequence(trace.complete("cpu_op", "mul elsewhere", 1, 3, "20", "5"), "5", "0");
    let trace = sequence(trace.complete("cpu_op", "AddmmBackward0", 1, 2, "50", "10"), "4", "1");
    let trace = sequence(trace.complete("cpu_op", "MulBackward0", 1, 2, "70", "10"), "5", "1");
    check(
        &trace.finish(),
        &LINKS.replace("ORDER BY b.span_id", "AND b.name LIKE '%Backward0' ORDER BY b.span_id"),
        "AddmmBackward0 addmm sequence_number\nMulBackward0 - -",
    );
}
