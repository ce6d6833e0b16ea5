//! Modules.

use stepscope_testkit::TraceBuilder;
use stepscope_workspace::Question;

use super::{ask, between, by, check, each_real, in_step, objects, reason, sentence, sum, table};
use crate::harness::open_text;

const HOST: &str = "name occurrences operators host_total_ns host_self_ns";
const DEVICE: &str = "name device_events device_total_ns device_self_ns backward_device_ns";

fn module(trace: TraceBuilder, name: &str, ts: &str, dur: &str) -> TraceBuilder {
    let name = format!("nn.Module: {name}");
    let trace = trace.complete("python_function", &name, TraceBuilder::HOST_PROCESS, 1, ts, dur);
    trace.arg("Python module id", "0")
}

fn work(trace: TraceBuilder, thread: i64, ts: &str, correlation: i64, dur: &str) -> TraceBuilder {
    trace.runtime("cudaLaunchKernel", thread, ts, "1", correlation).kernel("k", 0, 7, "500", dur, correlation)
}

/// A net from 0 to 100 calls two linear modules, 10–30 and 40–70; a plain frame lies around the second.
fn net() -> TraceBuilder {
    let trace = module(module(TraceBuilder::new(), "Net_0", "0", "100"), "Linear_0", "10", "20");
    let trace = trace.complete("python_function", "net.py(7): helper", TraceBuilder::HOST_PROCESS, 1, "35", "40");
    let trace = module(trace, "Linear_1", "40", "30");
    let trace =
        trace.op("aten::linear", 1, "12", "10").op("aten::addmm", 1, "13", "8").op("aten::linear", 1, "45", "10");
    let trace = trace.op("aten::add", 1, "80", "10");
    work(work(work(work(trace, 1, "15", 1, "3"), 1, "50", 2, "5"), 1, "85", 3, "7"), 1, "150", 4, "11")
}

#[test]
fn a_module_holds_what_is_launched_while_it_runs() {
    check(
        &net(),
        "modules",
        &Question::default(),
        HOST,
        // 100 − 20 − 30 µs are Net's own.
        "Net_0 1 1 100000 50000
         Linear_1 1 1 30000 30000
         Linear_0 1 2 20000 20000",
    );
    // The last kernel is launched behind the modules.
    check(
        &net(),
        "modules",
        &Question::default(),
        DEVICE,
        "Net_0 3 15000 7000 -
         Linear_1 1 5000 5000 -
         Linear_0 1 3000 3000 -",
    );
}

#[test]
fn a_class_adds_up_its_modules() {
    // A block inside another block counts once in totals.
    let trace =
        module(module(module(TraceBuilder::new(), "Block_0", "0", "100"), "Block_1", "10", "50"), "Act", "20", "5");
    let trace = work(work(trace, 1, "12", 1, "3"), 1, "22", 2, "5");
    check(&trace, "modules", &by(&["class"]), HOST, "Block 2 0 100000 95000\nAct 1 0 5000 5000");
    check(&trace, "modules", &by(&["class"]), DEVICE, "Block 2 8000 3000 -\nAct 1 5000 5000 -");
}

#[test]
fn backward_work_belongs_to_the_modules_of_its_forward_operator() {
    let trace = module(module(TraceBuilder::new(), "Net_0", "0", "100"), "Linear_0", "10", "20");
    let numbered = |trace: TraceBuilder, thread: &str| trace.arg("Sequence number", "4").arg("Fwd thread id", thread);
    let trace = work(numbered(trace.op("aten::addmm", 1, "12", "10"), "0"), 1, "15", 1, "3");
    // The kernel is that of the operator below the backward one.
    let trace = numbered(trace.op("AddmmBackward0", 2, "200", "50"), "1").op("aten::mm", 2, "210", "20");
    let trace = work(trace, 2, "215", 2, "9");
    check(&trace, "modules", &Question::default(), DEVICE, "Net_0 1 3000 0 9000\nLinear_0 1 3000 3000 9000");
    // A checkpoint calls the module again during the backward pass: forward work, and not both.
    let trace = trace.complete("python_function", "nn.Module: Linear_0", TraceBuilder::HOST_PROCESS, 2, "235", "10");
    let trace = trace.arg("Python module id", "0").op("aten::addmm", 2, "236", "5");
    let trace = work(trace, 2, "237", 3, "20");
    check(&trace, "modules", &Question::default(), DEVICE, "Linear_0 2 23000 23000 9000\nNet_0 1 3000 0 9000");
}

#[test]
fn steps_and_stretches_of_time_are_by_the_start_of_the_module() {
    let trace =
        TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "50").annotation("ProfilerStep#2", 1, "50", "50");
    let trace = module(module(trace, "Net_0", "5", "20"), "Net_0", "60", "30");
    let trace = module(trace, "Linear_0", "70", "10");
    let columns = "name step occurrences host_total_ns";
    check(&trace, "modules", &in_step(1), columns, "Net_0 - 1 20000");
    check(&trace, "modules", &by(&["step"]), columns, "Net_0 1 1 30000\nNet_0 0 1 20000\nLinear_0 1 1 10000");
    check(&trace, "modules", &between(65, 100), columns, "Linear_0 - 1 10000");
    // A recording without marks is one step.
    check(&net(), "modules", &in_step(0), "name", "Net_0\nLinear_1\nLinear_0");
}

#[test]
fn without_frames_operators_say_where_they_are() {
    let hierarchy = |trace: TraceBuilder, path: &str| trace.arg("Module Hierarchy", &format!("\"{path}\""));
    let trace =
        hierarchy(TraceBuilder::new().op("aten::linear", 1, "0", "20"), "top(Net)::forward.fc(Linear)::forward");
    // Inside the operator before, and without a word about where: it lies there too.
    let trace = work(trace.op("aten::addmm", 1, "5", "10"), 1, "7", 1, "3");
    let trace = work(hierarchy(trace.op("aten::relu", 1, "30", "5"), "top(Net)::forward"), 1, "31", 2, "5");
    let trace = hierarchy(trace.op("aten::add", 1, "40", "5"), "");
    check(
        &trace,
        "modules",
        &Question::default(),
        HOST,
        "top(Net)::forward - 1 25000 5000
         top(Net)::forward.fc(Linear)::forward - 2 20000 20000",
    );
    check(&trace, "modules", &by(&["class"]), "name device_total_ns device_self_ns", "Net 8000 5000\nLinear 3000 3000");
    let report = ask(&open_text(&trace.finish()), "modules", &Question::default());
    assert_eq!(reason(&report, "rows[].occurrences"), Some("argument not recorded: Python module id"));
}

#[test]
fn without_modules_there_is_a_reason() {
    let report = ask(&open_text(&TraceBuilder::new().op("a", 1, "0", "5").finish()), "modules", &Question::default());
    assert_eq!(sentence(&report), "No modules. Record them with with_stack=True or with_modules=True.");
    assert_eq!(reason(&report, "rows"), Some("argument not recorded: Python module id"));
}

#[test]
#[ignore = "needs the corpus"]
fn real_traces_have_no_more_in_modules_than_in_all() {
    let traces = [
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
    ];
    each_real(&traces, |trace, workspace, metrics| {
        let ask_by = |groupings: &[&str]| objects(table(&ask(workspace, "modules", &by(groupings)), "rows"));
        let rows = ask_by(&[]);
        assert!(!rows.is_empty(), "{trace}");
        let all =
            metrics["kernels"]["total_ns"].as_i64().unwrap() + sum(metrics["copies"].as_array().unwrap(), "total_ns");
        let own = sum(&rows, "device_self_ns");
        assert!(own > 0 && own <= all, "{trace}: {own} of {all}");
        assert!(sum(&rows, "operators") <= metrics["operators"]["summary"]["spans"].as_i64().unwrap(), "{trace}");
        for row in &rows {
            for (part, whole) in [("device_self_ns", "device_total_ns"), ("backward_device_ns", "")] {
                let whole = row[whole].as_i64().unwrap_or(all);
                assert!(row[part].as_i64().unwrap_or(0) <= whole, "{trace}: {part} of {row}");
            }
        }
        // What is a module's own is the same however modules are grouped.
        for grouped in [ask_by(&["class"]), ask_by(&["step"])] {
            for figure in ["occurrences", "operators", "host_self_ns", "device_self_ns"] {
                assert_eq!(sum(&grouped, figure), sum(&rows, figure), "{trace}: {figure}");
            }
        }
    });
}
