//! The breakdown of step time (metrics, section 6).

use serde_json::{Value as Json, json};
use stepscope_testkit::TraceBuilder;

use crate::harness::{check, open_text};

/// The eight classes in their order, then computation, communication and overlap, in microseconds.
fn shares(breakdown: &Json) -> Vec<i64> {
    let classes = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other"];
    let classes = classes.iter().map(|class| &breakdown[format!("{class}_ns")]);
    let overlap = ["computation", "communication", "overlap"].map(|name| &breakdown["overlap"][format!("{name}_ns")]);
    classes.chain(overlap).map(|ns| ns.as_f64().unwrap() as i64 / 1000).collect()
}

#[test]
fn the_average_is_of_complete_steps_and_the_whole_of_all_time() {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "100")
        .annotation("ProfilerStep#2", 1, "100", "100")
        .annotation("## forward ##", 1, "0", "100")
        .op("aten::mm", 1, "10", "50")
        .runtime("cudaLaunchKernel", 2, "20", "10", 1)
        .runtime("cudaLaunchKernel", 2, "30", "5", 2)
        .kernel("gemm", 0, 7, "40", "30", 1)
        .kernel("ncclDevKernel_AllReduce", 1, 9, "60", "30", 2)
        .memcpy("Memcpy DtoH (Device -> Pageable)", 0, 8, "85", "10", 0)
        // Half of it lies behind the last step.
        .op("aten::item", 1, "150", "100");
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    // The second step launched nothing, so it is incomplete.
    let first = shares(&metrics["steps"][0]["breakdown"]);
    assert_eq!(first, [30, 10, 0, 15, 15, 0, 15, 15, 30, 30, 10]);
    assert_eq!(shares(&metrics["breakdown_average"]), first);
    assert_eq!(metrics["breakdown_average"]["total_ns"], 100_000.0);
    assert_eq!(shares(&metrics["breakdown_whole_trace"]), [30, 10, 0, 15, 15, 0, 115, 65, 30, 30, 10]);
    assert_eq!(metrics["breakdown_whole_trace"]["total_ns"], 250_000);
}

#[test]
fn the_average_is_a_mean() {
    // 60, 20 and 0 µs of an operator in three steps.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "60")
        .annotation("ProfilerStep#2", 2, "40", "60")
        .annotation("ProfilerStep#3", 1, "120", "0")
        .op("all", 3, "-10", "70");
    let metrics = open_text(&trace.finish()).metrics(None, None).unwrap();
    assert_eq!(metrics["breakdown_average"]["cpu_exec_ns"], json!(80_000.0 / 3.0));
}

#[test]
fn names_decide_about_annotations() {
    let names = [
        "ProfilerStep#7",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "enumerate(DataLoader)#reset",
        "enumerate(DataPipe)#Mapper",
        "Optimizer.step#SGD.step",
        "DataParallel.forward",
        "DistributedDataParallel.forward",
        "nccl:all_reduce",
        "gloo:all_reduce",
        "mpi:send",
        "ucc:barrier",
        "my loss",
        "execute_context_1(8)_generation_0(0)",
    ];
    let want = "other dataloader cpu_exec dataloader cpu_exec cpu_exec cpu_exec cpu_exec communication communication \
                communication other other";
    // Both generations write the names of pseudo-operators; a free label of the old one is an operator.
    for category in ["user_annotation", "cpu_op"] {
        let place = |trace: TraceBuilder, (at, name): (usize, &&str)| {
            trace.complete(category, name, 1, 1, &(at * 10).to_string(), "5")
        };
        let trace = names.iter().enumerate().fold(TraceBuilder::new(), place).finish();
        let want =
            if category == "cpu_op" { want.replace("other other", "cpu_exec cpu_exec") } else { want.to_owned() };
        check(
            &trace,
            "SELECT class FROM breakdown_spans ORDER BY start_ns",
            &want.split_whitespace().collect::<Vec<_>>().join("\n"),
        );
    }
}

#[test]
fn without_steps_there_is_no_breakdown() {
    let trace = TraceBuilder::new().complete("python_function", "f", 1, 1, "0", "500").finish();
    let metrics = open_text(&trace).metrics(None, None).unwrap();
    for member in ["breakdown_average", "breakdown_whole_trace"] {
        assert!(metrics[member].is_null());
        assert_eq!(metrics["nulls"][member], "no complete step");
    }
}
