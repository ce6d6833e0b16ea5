//! The classes of device events: computation, communication, copies and fills (metrics, section 9).

use stepscope_testkit::TraceBuilder;

use crate::harness::check;

#[test]
fn communication_is_told_from_computation_and_copies() {
    let trace = TraceBuilder::new()
        .kernel("ncclDevKernel_AllReduce", 0, 7, "0", "5", 0)
        .kernel("elementwise", 0, 7, "10", "5", 0)
        .memcpy("Memcpy PtoP (Device -> Device)", 0, 7, "20", "5", 0);
    check(
        &trace.finish(),
        "SELECT class, comm_rule FROM device_events ORDER BY start_ns",
        "communication name
         compute -
         memcpy -",
    );
}
