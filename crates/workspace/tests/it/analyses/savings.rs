//! What findings say about savings: replayed on traces whose answers are worked out by hand, in microseconds.

use serde_json::{Value as Json, json};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Question, Workspace, read_thresholds};

use super::{ask, objects, table};
use crate::harness::open_text;

fn findings(workspace: &Workspace, question: &Question) -> Vec<Json> {
    objects(table(&ask(workspace, "diagnose", question), "rows"))
}

/// The finding of a rule.
#[track_caller]
fn found(trace: &TraceBuilder, rule: &str) -> Json {
    let all = findings(&open_text(&trace.finish()), &Question::default());
    let found = all.iter().find(|finding| finding["rule"] == rule);
    found.cloned().unwrap_or_else(|| panic!("{rule} is not among {all:#?}"))
}

/// Steps of 1000 that begin at 0; each is made by `step` from its start.
fn steps(count: i64, step: impl Fn(TraceBuilder, i64, i64) -> TraceBuilder) -> TraceBuilder {
    let mark = |trace: TraceBuilder, number: i64| {
        let start = number * 1000;
        let trace = trace.annotation(&format!("ProfilerStep#{number}"), 1, &start.to_string(), "1000");
        step(trace, start, number)
    };
    (0..count).fold(TraceBuilder::new(), mark)
}

const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

/// Steps that load for a time, then compute on the host.
fn loading(count: i64, loading: i64) -> TraceBuilder {
    steps(count, |trace, start, _| {
        let at = |offset: i64| (start + offset).to_string();
        trace.annotation(LOADER, 1, &at(0), &loading.to_string()).op("aten::mm", 1, &at(loading), "500")
    })
}

#[test]
fn a_saving_has_its_range_and_says_what_it_is_worth() {
    let finding = found(&loading(6, 400), "data_loading");
    let members = ["saving_ns", "saving_low_ns", "saving_high_ns", "bound", "confidence", "change", "saving_null"];
    let values: Vec<&Json> = members.iter().map(|name| &finding[*name]).collect();
    let want = [
        json!(400_000.0),
        json!(400_000.0),
        json!(400_000.0),
        json!("at most"),
        json!("high"),
        json!("input_ready"),
        Json::Null,
    ];
    assert_eq!(values, want.iter().collect::<Vec<_>>());
    assert_eq!((&finding["severity"], &finding["at_stake_ns"]), (&json!("high"), &json!(400_000.0)));
    // Few steps prove less.
    assert_eq!(found(&loading(3, 400), "data_loading")["confidence"], "medium");
    assert_eq!(found(&loading(6, 60), "data_loading")["severity"], "medium");
}

#[test]
fn without_a_proof_a_finding_is_low() {
    // Nothing says what launched the kernels.
    let trace = steps(3, |trace, start, number| {
        let at = |offset: i64| (start + offset).to_string();
        let trace = trace.annotation(LOADER, 1, &at(0), "400");
        trace.kernel("gemm", 0, 7, &at(500), "400", 1_000 + number)
    });
    let finding = found(&trace, "data_loading");
    let said = (&finding["severity"], &finding["saving_ns"], &finding["saving_null"], &finding["change"]);
    assert_eq!(said, (&json!("low"), &Json::Null, &json!("launch calls not recorded"), &json!("input_ready")));
}

#[test]
fn thresholds_of_the_user_decide() {
    let workspace = open_text(&loading(6, 60).finish());
    let with = |file: &str| {
        let question = Question { thresholds: read_thresholds(file).unwrap(), ..Question::default() };
        let report = ask(&workspace, "diagnose", &question);
        let rows = objects(table(&report, "rows"));
        (rows.iter().map(|row| row["rule"].clone()).collect::<Vec<_>>(), report)
    };
    assert_eq!(with("{}").0, ["data_loading"]);
    assert!(with(r#"{"data_loading": {"share_ratio": 0.06}}"#).0.is_empty());
    // It fires, but its saving is not enough: that is told to programs.
    let (rows, report) = with(r#"{"findings": {"low_ratio": 0.061}}"#);
    assert!(rows.is_empty());
    let left_out = report.data.iter().find(|(name, _)| *name == "left_out").unwrap();
    let text = format!("{left_out:?}");
    assert!(text.contains("data_loading") && text.contains("saves too little"), "{text}");
}

/// A step whose host waits for a kernel inside an operator: launch at 10, kernel 20–520, wait 30–530, then Python until
/// 1000 if nothing else is said.
fn waiting(operator: &str, steps_: i64) -> TraceBuilder {
    steps(steps_, |trace, start, number| {
        let at = |offset: i64| (start + offset).to_string();
        let (launch, wait) = (2 * number + 1, 2 * number + 2);
        trace
            .runtime("cudaLaunchKernel", 1, &at(10), "2", launch)
            .kernel("gemm", 0, 7, &at(20), "500", launch)
            .op(operator, 1, &at(25), "510")
            .runtime("cudaStreamSynchronize", 1, &at(30), "500", wait)
    })
}

#[test]
fn a_read_on_the_host_waits_for_what_it_reads() {
    let finding = found(&waiting("aten::item", 4), "scalar_read");
    assert_eq!((&finding["change"], &finding["bound"]), (&json!("no_sync"), &json!("at most")));
    // The host does not wait from 30 to 530: each step ends 500 earlier, when its kernel has ended.
    let saving = finding["saving_ns"].as_f64().unwrap();
    assert!((400_000.0..=500_000.0).contains(&saving), "{finding}");
    // The same wait outside of such an operator is not a read.
    let all = findings(&open_text(&waiting("aten::mm", 4).finish()), &Question::default());
    assert!(all.iter().all(|finding| finding["rule"] != "scalar_read"), "{all:#?}");
}

#[test]
fn work_that_has_no_place_in_a_loop_is_found() {
    let calls = |call: &'static str, from: i64| {
        steps(6, move |trace, start, number| {
            let at = |offset: i64| (start + offset).to_string();
            let trace = trace.op("aten::mm", 1, &at(0), "300");
            if number < from { trace } else { trace.runtime(call, 1, &at(400), "100", number + 1) }
        })
    };
    let finding = found(&calls("cudaMalloc", 0), "allocator_in_loop");
    assert_eq!((&finding["saving_ns"], &finding["change"]), (&json!(100_000.0), &json!("remove")));
    assert_eq!(found(&calls("cuModuleLoadData", 5), "recompilation")["at_stake_ns"], 25_000.0);
}

#[test]
fn uneven_steps_are_told_by_their_lengths() {
    let mut trace = TraceBuilder::new();
    let mut start = 0;
    for number in 0..10 {
        let length = if number == 8 || number == 9 { 2000 } else { 1000 };
        trace = trace.annotation(&format!("ProfilerStep#{number}"), 1, &start.to_string(), &length.to_string());
        trace = trace.op("aten::mm", 1, &start.to_string(), &(length - 10).to_string());
        start += length;
    }
    let finding = found(&trace, "uneven_steps");
    assert_eq!((&finding["saving_ns"], &finding["severity"]), (&json!(200_000.0), &json!("high")));
}
