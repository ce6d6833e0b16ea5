//! Runs against each other: values of an independent implementation, rows that add up, and cases worked out by hand.

use std::fs;

use serde_json::{Map, Value, json};
use stepscope_model::{Cell, Part, Report, ReportTable};
use stepscope_simulate::faults::population;
use stepscope_testkit::{TraceBuilder, corpus};
use stepscope_workspace::{DiffSide, Question, diff};
use tempfile::TempDir;

use crate::compare::compare;
use crate::harness::{open, open_text};

fn side(paths: &[std::path::PathBuf]) -> DiffSide {
    open(paths).unwrap().diff_side(&Question::default()).unwrap()
}

/// The members of a comparison.
fn members(report: &Report) -> Value {
    let member = |(name, cell): &(&'static str, Cell)| match cell {
        Cell::Json(value) => Some(((*name).to_owned(), value.clone())),
        _ => None,
    };
    Value::Object(report.data.iter().filter_map(member).collect::<Map<String, Value>>())
}

fn table<'a>(report: &'a Report, name: &str) -> Option<&'a ReportTable> {
    report.parts.iter().find_map(|part| match part {
        Part::Table(table) if table.name == name => Some(table),
        _ => None,
    })
}

/// The cells of some columns.
fn cells(report: &Report, of_table: &str, columns: &[&str]) -> Value {
    let Some(table) = table(report, of_table) else { return Value::Null };
    let place = |name: &&str| table.columns.iter().position(|column| column.name == **name).unwrap();
    let value = |cell: &Cell| match cell {
        Cell::Int(value) => json!(value),
        Cell::Float(value) => json!(value),
        Cell::Text(text) => json!(text),
        _ => Value::Null,
    };
    table.rows.iter().map(|row| columns.iter().map(|name| value(&row[place(name)])).collect::<Value>()).collect()
}

/// Rows and classes add up to the difference exactly; pairs without one have a reason.
#[track_caller]
fn check_adds_up(a: &DiffSide, b: &DiffSide, about: &str) -> bool {
    let report = diff(a, b);
    let members = members(&report);
    let Some(expected) = members["difference_numerator"].as_i64() else {
        assert!(!report.missing.is_empty(), "{about}");
        return false;
    };
    for name in ["rows", "class_rows"] {
        let sum: i64 =
            cells(&report, name, &["numerator"]).as_array().unwrap().iter().map(|row| row[0].as_i64().unwrap()).sum();
        assert_eq!(sum, expected, "{about}: {name}");
    }
    let numerators = members["classes"].as_object().unwrap().values().map(|class| class["numerator"].as_i64().unwrap());
    assert_eq!(numerators.sum::<i64>(), expected, "{about}");
    true
}

/// Compares every pair; gives how many have a difference.
fn check_all_pairs(sides: &[DiffSide]) -> usize {
    let places = 0..sides.len();
    let pairs = places.clone().flat_map(|a| places.clone().map(move |b| (a, b)));
    pairs.filter(|(a, b)| check_adds_up(&sides[*a], &sides[*b], &format!("{a} to {b}"))).count()
}

#[test]
#[ignore = "needs the corpus"]
fn every_difference_is_the_oracles() {
    let corpus = corpus();
    let pairs = corpus.answers("diff");
    assert_eq!(pairs.len(), 6);
    for (values, traces) in pairs {
        let expected: Value = serde_json::from_str(&fs::read_to_string(&values).unwrap()).unwrap();
        let [a, b] = [0, 1].map(|place: usize| side(&[traces[place].clone()]));
        let found = members(&diff(&a, &b));
        let mut differences = Vec::new();
        compare("", &found, &expected, &mut differences);
        assert!(
            differences.is_empty(),
            "{}:\n{}",
            values.display(),
            differences[..differences.len().min(12)].join("\n")
        );
    }
}

#[test]
#[ignore = "needs the corpus"]
fn rows_add_up_on_every_pair_of_recordings() {
    let corpus = corpus();
    let recordings = corpus.answers("critical");
    assert_eq!(recordings.len(), 32);
    let sides: Vec<DiffSide> = recordings.into_iter().map(|(_, traces)| side(&traces)).collect();
    let compared = check_all_pairs(&sides);
    assert!(compared > 400, "{compared} pairs have equal step sources");
}

#[test]
fn rows_add_up_on_a_thousand_random_pairs() {
    let one_rank = |job: &stepscope_simulate::faults::FaultyJob, folder: &TempDir| {
        job.write_traces(folder.path()).unwrap();
        side(&[folder.path().to_owned()])
    };
    let jobs = population(4242);
    let every = jobs.len() / 32;
    let sides: Vec<DiffSide> =
        jobs.iter().step_by(every).take(32).map(|job| one_rank(job, &TempDir::new().unwrap())).collect();
    assert!(check_all_pairs(&sides) >= 1000);
}

/// Two steps of 100 µs. In each, a module of one linear layer runs an operator whose kernel takes `kernel_us`, and a
/// collective of `bytes`.
fn job(kernel_us: u32, bytes: u32, peak: i64, layer: &str) -> String {
    let mut trace = TraceBuilder::new();
    for step in 0..2 {
        let at = |time: u32| (1000 + 200 * step + time).to_string();
        let id = i64::from(10 * step);
        trace = trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &at(0), "100")
            .complete("python_function", "nn.Module: Net_0", TraceBuilder::HOST_PROCESS, 1, &at(1), "80")
            .arg("Python id", &(id + 1).to_string())
            .arg("Python parent id", "null")
            .arg("Python module id", "0")
            .complete("python_function", &format!("nn.Module: {layer}"), TraceBuilder::HOST_PROCESS, 1, &at(2), "40")
            .arg("Python id", &(id + 2).to_string())
            .arg("Python parent id", &(id + 1).to_string())
            .arg("Python module id", "1")
            .op("aten::linear", 1, &at(3), "30")
            .runtime("cudaLaunchKernel", 1, &at(5), "2", id + 1)
            .kernel("gemm", 0, 7, &at(10), &kernel_us.to_string(), id + 1)
            .memory(1, &at(6), 1 << 20, peak)
            .arg("Device Type", "1")
            .arg("Device Id", "0")
            .runtime("cudaLaunchKernel", 1, &at(50), "2", id + 2)
            .kernel("ncclDevKernel_AllReduce", 0, 20, &at(60), "15", id + 2)
            .arg("Collective name", "\"allreduce\"")
            .arg("In msg nelems", &(bytes / 4).to_string())
            .arg("Out msg nelems", &(bytes / 4).to_string())
            .arg("dtype", "\"Float\"")
            .arg("Process Group Name", "\"1\"")
            .arg("Group size", "2");
    }
    trace.finish()
}

#[test]
fn modules_collectives_and_memory_are_compared() {
    let of = |trace: &str| open_text(trace).diff_side(&Question::default()).unwrap();
    let report = diff(&of(&job(10, 4096, 5 << 20, "Linear_0")), &of(&job(20, 8192, 7 << 20, "Linear_1")));
    let columns = ["path", "a_ns", "b_ns", "noise"];
    // Both kernels of a step: 10 or 20 µs inside the layer, and the collective that only the net is around.
    let expected = json!([
        ["Net_0/Linear_1", 0, 40_000, "not tested"],
        ["Net_0", 50_000, 70_000, "not tested"],
        ["Net_0/Linear_0", 20_000, 0, "not tested"],
    ]);
    assert_eq!(cells(&report, "module_rows", &columns), expected);
    let columns = ["collective", "process_group", "message_bytes", "a_ns", "b_ns", "count_a_per_step"];
    let expected = json!([["all_reduce", "1", 4096, 30_000, 0, 1.0], ["all_reduce", "1", 8192, 0, 30_000, 0.0]]);
    assert_eq!(cells(&report, "communication_rows", &columns), expected);
    let columns = ["device", "peak_a_bytes", "peak_b_bytes", "difference_bytes"];
    assert_eq!(cells(&report, "memory_rows", &columns), json!([["gpu0", 5 << 20, 7 << 20, 2 << 20]]));
}

/// Six steps; an operator runs for `work_us` on a stream, and `host_us` of other host work follow.
fn steps(stream: i64, host_us: u32) -> String {
    let mut trace = TraceBuilder::new();
    for step in 0..6 {
        let at = |time: u32| (1000 + 200 * step + time).to_string();
        trace = trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &at(0), &(60 + host_us + step).to_string())
            .op("aten::mm", 1, &at(3), "10")
            .runtime("cudaLaunchKernel", 1, &at(5), "2", i64::from(step) + 1)
            .kernel("gemm", 0, stream, &at(10), "20", i64::from(step) + 1)
            .op("aten::item", 1, &at(20), &(30 + host_us).to_string());
    }
    trace.finish()
}

#[test]
fn work_on_another_stream_moved() {
    let of = |trace: &str| open_text(trace).diff_side(&Question::default()).unwrap();
    let report = diff(&of(&steps(7, 0)), &of(&steps(9, 20)));
    assert_eq!(cells(&report, "moved", &["name", "stream_a", "stream_b"]), json!([["aten::mm", 7, 9]]));
    let changed = cells(&report, "class_rows", &["class", "noise"]);
    assert_eq!(changed[0], json!(["cpu_exec", "changed"]), "{changed}");
    assert_eq!(cells(&diff(&of(&steps(7, 0)), &of(&steps(7, 20))), "moved", &["name"]), json!([]));
}

#[test]
fn runs_with_different_step_sources_have_a_reason() {
    let of = |trace: &str| open_text(trace).diff_side(&Question::default()).unwrap();
    let whole = TraceBuilder::new().op("aten::mm", 1, "1000", "10").finish();
    let report = diff(&of(&steps(7, 0)), &of(&whole));
    assert_eq!(report.missing[0].path, "steps_a");
    assert!(
        report
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(text) if format!("{text:?}").contains("step sources differ")))
    );
}
