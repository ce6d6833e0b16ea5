//! The calls that brought work to a device (metrics, section 13).

use stepscope_model::tables::LAUNCHES;
use stepscope_testkit::TraceBuilder;

use crate::tables::tables;

#[test]
fn a_launch_has_the_earliest_of_its_device_events() {
    let trace = TraceBuilder::new()
        .runtime("cudaLaunchKernel", 1, "0", "4", 1)
        .kernel("short", 0, 7, "10", "2", 1)
        .runtime("cudaGraphLaunch", 1, "20", "2", 2)
        .kernel("later node", 0, 7, "30", "1", 2)
        .kernel("earlier node", 0, 8, "25", "20", 2)
        // Starts while the call still runs.
        .runtime("cudaMemcpyAsync", 1, "50", "10", 3)
        .memcpy("copy", 0, 7, "55", "15", 3)
        // Starts before the call: clocks that disagree.
        .runtime("cuLaunchKernel", 1, "80", "1", 4)
        .kernel("k", 0, 7, "79", "11", 4)
        .runtime("cudaStreamSynchronize", 1, "90", "10", 5);
    let tables = tables(&trace);
    tables.rows(&LAUNCHES).check(
        "name is_graph device_events device_total_ns stream_id device_start_ns device_dur_ns latency_ns delay_ns",
        "cudaLaunchKernel false 1 2000 7 10000 2000 10000 6000
         cudaGraphLaunch true 2 21000 8 25000 20000 5000 3000
         cudaMemcpyAsync false 1 15000 7 55000 15000 5000 0
         cuLaunchKernel false 1 11000 7 79000 11000 -1000 0",
    );
    assert_eq!(tables.health("device_before_launch"), "1");
}
