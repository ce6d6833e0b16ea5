//! What findings and sentences claim: not more than was measured, and nothing that the device cannot do.

use std::path::Path;

use serde_json::Value as Json;
use stepscope_model::{Cell, Part, Report};
use stepscope_testkit::{TraceBuilder, corpus, plain_bytes};
use stepscope_workspace::{Question, Workspace};

use super::{ask, objects, said, table, texts};
use crate::harness::{answer, open, open_text, write};

/// The sentence that is set in bold.
fn headline(report: &Report) -> String {
    let headline = report.texts().find(|text| text.role == stepscope_model::Role::Headline);
    headline.map(|text| said(&text.lines[0])).unwrap_or_default()
}

fn findings(workspace: &Workspace) -> Vec<Json> {
    objects(table(&ask(workspace, "diagnose", &Question::default()), "rows"))
}

fn finding(workspace: &Workspace, rule: &str) -> Option<Json> {
    findings(workspace).into_iter().find(|finding| finding["rule"] == rule)
}

/// Some small traces of several vendors and generations; `.ci/sweep` checks the same on all.
const SAMPLE: [&str; 9] = [
    "aorta/mi350_200691.1758927066581847260.pt.trace.json",
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "kineto/misc/gpu_metrics_input.json",
    "particle_transformer/profiler_trace_single_sample.json",
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
];

#[test]
#[ignore = "needs the corpus"]
fn no_finding_claims_more_than_there_is() {
    let corpus = corpus();
    let found: usize = SAMPLE.iter().map(|trace| check_trace(&corpus.trace(trace))).sum();
    assert!(found > SAMPLE.len(), "{found}");
}

/// Checks the findings of a trace; gives their number.
fn check_trace(trace: &Path) -> usize {
    let (name, workspace) = (trace.display(), &open(&[trace.to_owned()]).unwrap());
    let steps = answer(
        workspace,
        "SELECT coalesce(avg(step_ns), 0), coalesce(max(exposed_ns), 0) FROM (
           SELECT rank, avg(dur_ns) AS step_ns, avg(communication_ns) AS exposed_ns FROM steps
           LEFT JOIN step_breakdown USING (rank, \"window\", step) WHERE is_complete GROUP BY rank)",
    );
    let (step_ns, exposed_ns) = steps.split_once(' ').unwrap();
    let (step_ns, exposed_ns): (f64, f64) = (step_ns.parse().unwrap(), exposed_ns.parse().unwrap());
    let devices = devices(trace);
    let count = |sql: &str| answer(workspace, &format!("SELECT count(*) FROM {sql}")).parse::<i64>().unwrap();
    let device_events = count("device_events");
    let is_ddp = count("spans WHERE name LIKE '%DistributedDataParallel.forward' OR name LIKE '%ddp.reducer%'") > 0;
    let collectives = answer(workspace, "SELECT DISTINCT collective FROM all_collectives");
    let found = findings(workspace);
    for finding in &found {
        let context = format!("{name}: {finding}");
        if let Some(at_stake) = finding["at_stake_ns"].as_f64() {
            assert!((0.0..=step_ns * (1.0 + 1e-9)).contains(&at_stake), "{context}: a step takes {step_ns}");
            let is_exposed = ["straggler", "exposed_communication"].contains(&finding["rule"].as_str().unwrap());
            assert!(!is_exposed || at_stake <= exposed_ns * (1.0 + 1e-9), "{context}: {exposed_ns} are exposed");
        }
        let fix = finding["fix"].as_str().unwrap();
        assert!(!fix.is_empty(), "{context}: no advice");
        let says = |word: &str| fix.to_ascii_lowercase().contains(word);
        let amd = devices.iter().any(|(name, _)| name.contains("AMD"));
        let before_ampere = devices.iter().any(|(name, major)| !name.contains("AMD") && *major < 8);
        assert!(
            !(before_ampere && (says("bf16") || says("bfloat16") || says("tf32"))),
            "{context}: not on {devices:?}"
        );
        assert!(!(amd && (says("tf32") || fix.contains("CUDA"))), "{context}: not on {devices:?}");
        assert!(is_ddp || !says("bucket_cap_mb"), "{context}: no DDP");
        assert!(!says("all_reduce") && !says("bucket_cap_mb") || collectives.contains("all_reduce"), "{context}");
        assert!(device_events > 0 || !(says("gpu") || says("cuda") || says("pin_memory")), "{context}: no device");
    }
    found.len()
}

/// Name and major compute capability of the devices in the header, read without Stepscope.
fn devices(trace: &Path) -> Vec<(String, i64)> {
    let text = String::from_utf8_lossy(&plain_bytes(trace)).into_owned();
    let Some(list) = text.split_once("\"deviceProperties\"").and_then(|(_, rest)| rest.split_once('[')) else {
        return Vec::new();
    };
    let list = format!("[{}]", list.1.split_once(']').unwrap().0);
    let Ok(Json::Array(devices)) = serde_json::from_str(&list) else { return Vec::new() };
    let device =
        |device: &Json| (device["name"].as_str().unwrap_or_default().to_owned(), device["computeMajor"].as_i64());
    devices.iter().map(device).filter_map(|(name, major)| Some((name, major?))).collect()
}

/// Two ranks with one step of 700 µs each. The collective of rank 0 takes 500 µs, that of rank 1, whose host is late, the
/// last 100 of them; a kernel computes on rank 0 for the first `hidden` of its waiting. Work starts 10 µs after its call.
fn two_ranks(hidden: i64) -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let rank = |number: i64, start: i64, dur: i64| {
        let trace = TraceBuilder::new()
            .header("distributedInfo", &format!("{{\"rank\": {number}}}"))
            .annotation("ProfilerStep#1", 1, "0", &(start - 5).to_string())
            .runtime("cudaLaunchKernel", 1, "90", "1", 1)
            .kernel("gemm", 0, 7, "100", &(100 + if number == 0 { hidden } else { 0 }).to_string(), 1)
            .runtime("cudaLaunchKernel", 1, &(start - 10).to_string(), "1", 2)
            .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, &start.to_string(), &dur.to_string(), 2)
            .arg("Collective name", "\"allreduce\"")
            .arg("Process Group Name", "\"0\"")
            .arg("dtype", "\"Float\"")
            .arg("In msg nelems", "1000")
            .arg("Group size", "2");
        write(folder.path(), &format!("rank{number}.json"), &trace.finish())
    };
    open(&[rank(0, 200, 500), rank(1, 600, 100)]).unwrap()
}

#[test]
fn at_stake_is_what_a_kernel_does_not_hide() {
    let check = |hidden: i64, caused_ns: f64| {
        let straggler = finding(&two_ranks(hidden), "straggler").unwrap();
        // Per step of the rank that waits.
        assert_eq!(straggler["at_stake_ns"], caused_ns, "{straggler}");
    };
    check(0, 400_000.0);
    check(300, 100_000.0);
    // Waiting that is hidden costs nothing.
    assert_eq!(finding(&two_ranks(400), "straggler"), None);
}

#[test]
fn equal_ranks_save_what_the_rank_in_the_middle_waits() {
    // Without waiting the collective of rank 0 ends at 300.
    let straggler = finding(&two_ranks(0), "straggler").unwrap();
    let saving = (&straggler["saving_ns"], &straggler["severity"], &straggler["change"]);
    assert_eq!(saving, (&Json::from(400_000.0), &Json::from("high"), &Json::from("equal_ranks")));
    // A kernel that computes until 500 is not waiting.
    assert_eq!(finding(&two_ranks(300), "straggler").unwrap()["saving_ns"], 200_000.0);
}

#[test]
fn waiting_is_told_from_transfer_by_several_ranks_alone() {
    let workspace = two_ranks(0);
    let both = headline(&ask(&workspace, "summary", &Question::default()));
    assert_eq!(
        both,
        "A step takes 700.0 µs: the GPU computes 100.0 µs, waits 200.0 µs for other ranks and communicates for 100.0 µs."
    );
    assert_eq!(headline(&ask(&workspace, "steps", &Question::default())), both);
    let straggler = finding(&workspace, "straggler").unwrap();
    assert_eq!(straggler["title"], "Ranks wait 400.0 µs per step for rank 1");
    // Most of the exposed communication is waiting, so it is not told as transfer.
    assert_eq!(finding(&workspace, "exposed_communication"), None);
    let one = Question { ranks: vec![0], ..Question::default() };
    let alone = headline(&ask(&workspace, "summary", &one));
    assert_eq!(alone, "A step takes 700.0 µs: the GPU computes 100.0 µs; 500.0 µs is exposed communication.");
}

#[test]
fn the_headline_names_what_takes_most() {
    let check = |trace: TraceBuilder, want: &str| {
        assert_eq!(headline(&ask(&open_text(&trace.finish()), "summary", &Question::default())), want);
    };
    let step = || TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "1000");
    let kernel = |trace: TraceBuilder, dur: &str| {
        trace.runtime("cudaLaunchKernel", 1, "0", "10", 1).kernel("k", 0, 7, "10", dur, 1)
    };
    // 10 µs in a call, 90 in an operator, and 400 without anything.
    check(
        kernel(step(), "500").op("f", 1, "510", "90"),
        "A step takes 1.000 ms: the GPU computes 500.0 µs and is idle for 500.0 µs, 400.0 µs of it while no operator runs \
         on the host.",
    );
    check(kernel(step(), "990"), "A step takes 1.000 ms: the GPU is busy 99.0 % of the time.");
    // Nothing marks steps.
    check(
        TraceBuilder::new().op("f", 1, "0", "90").op("g", 1, "95", "5"),
        "The trace takes 100.0 µs, of which operators on the host take 95.00 µs.",
    );
    check(step().op("f", 1, "0", "90"), "A step takes 1.000 ms, of which 910.0 µs is outside of operators.");
    check(
        step().op("f", 1, "0", "90").annotation("gloo:all_reduce", 1, "100", "800"),
        "A step takes 1.000 ms, of which communication takes 800.0 µs.",
    );
}

#[test]
fn the_title_has_the_figure() {
    let check = |busy: i64, title: &str| {
        let trace = TraceBuilder::new()
            .annotation("ProfilerStep#1", 1, "0", "100000")
            .runtime("cudaLaunchKernel", 1, "0", "1", 1)
            .kernel("k", 0, 7, "100", &busy.to_string(), 1);
        let found = finding(&open_text(&trace.finish()), "low_utilization").unwrap();
        assert_eq!((&found["title"], &found["severity"]), (&Json::from(title), &Json::from("medium")));
    };
    check(2_100, "The GPU is idle 97.9 % of the step");
    check(40_000, "The GPU is idle 60.0 % of the step");
}

/// A step of 10 ms whose launches wait behind earlier work until `first`, in µs, and run for 1 ms then.
fn queued(first: i64, launches: i64) -> TraceBuilder {
    let mut trace = TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "10000");
    for launch in 0..launches {
        let (call, start) = ((10 + launch * 5).to_string(), (first + launch * 500).to_string());
        trace =
            trace.runtime("cudaLaunchKernel", 1, &call, "2", launch + 1).kernel("k", 0, 7, &start, "500", launch + 1);
    }
    trace
}

fn figure(report: &Report, name: &str) -> Cell {
    let metrics =
        report.parts.iter().filter_map(|part| if let Part::Metric(metric) = part { Some(metric) } else { None });
    metrics.into_iter().find(|metric| metric.name == name).unwrap().value.clone()
}

#[test]
fn work_from_before_the_recording_is_not_idle_time() {
    let workspace = open_text(&queued(9000, 2).finish());
    let report = ask(&workspace, "summary", &Question::default());
    assert_eq!(
        headline(&report),
        "A step takes 10.00 ms. For 9.000 ms of it the device was busy with work from before the trace began; then the GPU \
         computes 1.000 ms of it."
    );
    assert_eq!(figure(&report, "busy_before_recording_ns"), Cell::Float(9e6));
    assert_eq!(figure(&report, "utilization_from_first_kernel_ratio"), Cell::Float(1.0));
    assert_eq!(finding(&workspace, "low_utilization"), None);
    let health = workspace.health(None, None).unwrap();
    let note = "Rank 0, window 0: for the first 9.000 ms the device was busy with work from before the trace began.";
    assert!(texts(&health).iter().any(|text| text == note), "{:?}", texts(&health));
}

#[test]
fn a_device_that_has_nothing_queued_is_idle() {
    let is_idle = |trace: TraceBuilder| {
        let workspace = open_text(&trace.finish());
        let report = ask(&workspace, "summary", &Question::default());
        let is_said = headline(&report).contains("before the trace began");
        figure(&report, "busy_before_recording_ns") == Cell::Float(0.0) && !is_said
    };
    // The work starts as soon as it is launched.
    assert!(is_idle(queued(30, 2)));
    // One launch may wait for something else.
    assert!(is_idle(queued(9000, 1)));
    // Other recorded work runs meanwhile: the stream waits for that.
    let other = |start: &str, dur: &str| {
        queued(9000, 2).runtime("cudaLaunchKernel", 1, "1", "2", 9).kernel("other", 0, 8, start, dur, 9)
    };
    assert!(is_idle(other("20", "8000")));
    assert!(!is_idle(other("20", "20")));
    // A program that starts up in the recording has launched nothing before.
    let late = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "10000")
        .op("start up", 1, "0", "6000")
        .runtime("cudaLaunchKernel", 1, "6000", "2", 1)
        .kernel("k", 0, 7, "8000", "500", 1)
        .runtime("cudaLaunchKernel", 1, "6010", "2", 2)
        .kernel("k", 0, 7, "8500", "500", 2);
    assert!(is_idle(late));
    // A call that takes long itself, as one that loads a module, has not queued anything.
    let slow_call = TraceBuilder::new()
        .annotation("ProfilerStep#1", 1, "0", "10000")
        .runtime("cudaLaunchKernel", 1, "0", "8990", 1)
        .kernel("k", 0, 7, "9000", "500", 1)
        .runtime("cudaLaunchKernel", 1, "8991", "2", 2)
        .kernel("k", 0, 7, "9500", "500", 2);
    assert!(is_idle(slow_call));
}

#[test]
#[ignore = "needs the corpus"]
fn recordings_of_servers_begin_while_work_is_queued() {
    let corpus = corpus();
    let is_busy = |name: &str| {
        let workspace = open(&[corpus.trace(&format!("tracelens/inference/{name}"))]).unwrap();
        headline(&ask(&workspace, "summary", &Question::default())).contains("work from before the trace began")
    };
    assert!(is_busy("vllm_prefilldecode_piecewise/graph_execution.json.gz"));
    assert!(is_busy("vllm_decode_full/graph_execution.json.gz"));
    assert!(is_busy("sglang_decode/sglang_Qwen3-8B_decode.json.gz"));
    assert!(is_busy("sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz"));
    assert!(!is_busy("sglang_decode/capture_traces/bs_32_rank0.json.gz"));
    assert!(!is_busy("xdit_sd_3.5/profile_trace_rank_0.json.gz"));
}
