//! A recording of `PyTorch` on the CPU: our figures are those of its own profiler, from the same recording.
//!
//! `fixtures/torch_cpu/record.py` made both. Where a figure differs, a definition is the reason, and stands here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;
use stepscope_model::{Cell, Part};
use stepscope_workspace::{CancelFlag, Workspace};

use crate::harness::open;

/// What the profiler lists beside operators: annotations, which we keep apart (metrics, section 2).
const ANNOTATIONS: [&str; 4] =
    ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad", "ProfilerStep*", "forward"];

/// Operators written in Python. Recorded with stacks, the frames inside are children of the operator to the profiler:
/// their time and memory are not its own, and it does not see that its only operator is a call of itself. To us frames
/// are a tree apart (metrics, section 3).
const WITH_FRAMES_INSIDE: [&str; 2] = ["CheckpointFunction", "CheckpointFunctionBackward"];

/// Operators that lie in others of their name, with further operators between. The profiler adds the inner one to the
/// total once more; we do not (metrics, section 10).
const RECURSIVE: [&str; 3] = [
    "CheckpointFunction",
    "CheckpointFunctionBackward",
    "autograd::engine::evaluate_function: CheckpointFunctionBackward",
];

/// Operators that we know the FLOPs of and the profiler does not, and those below or above the one that it puts them to.
const FLOPS_OF_OURS: [&str; 7] = [
    "aten::_convolution",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    "aten::convolution",
    "aten::convolution_backward",
    "aten::linear",
    "aten::scaled_dot_product_attention",
];

/// Operators that only the profiler gives FLOPs: the convolution under another name, and sums, which we do not count
/// (metrics, section 15).
const FLOPS_OF_TORCH: [&str; 2] = ["aten::add", "aten::conv2d"];

/// What the profiler says about an operator; with a shape, about those calls.
struct Torch {
    name: String,
    shapes: Json,
    calls: i64,
    self_ns: i64,
    total_ns: i64,
    self_bytes: i64,
    total_bytes: i64,
    flops: i64,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/torch_cpu"))
}

fn recording() -> Workspace {
    open(&[folder().join("trace.json.gz")]).unwrap()
}

/// The rows of the profiler, without those of annotations.
fn torch(list: &str) -> Vec<Torch> {
    let text = fs::read_to_string(folder().join("key_averages.json")).unwrap();
    let document: Json = serde_json::from_str(&text).unwrap();
    let row = |row: &Json| {
        let int = |key: &str| row[key].as_i64().unwrap();
        Torch {
            name: row["key"].as_str().unwrap().to_owned(),
            shapes: row["input_shapes"].clone(),
            calls: int("count"),
            self_ns: int("self_cpu_time_total_ns"),
            total_ns: int("cpu_time_total_ns"),
            self_bytes: int("self_cpu_memory_usage"),
            total_bytes: int("cpu_memory_usage"),
            flops: int("flops"),
        }
    };
    let rows = document[list].as_array().unwrap().iter().map(row);
    rows.filter(|row| !ANNOTATIONS.contains(&row.name.as_str())).collect()
}

fn rows(workspace: &Workspace, sql: &str) -> Vec<Vec<Cell>> {
    let report = workspace.sql(sql, None, &CancelFlag::default()).unwrap();
    let Some(Part::Table(table)) = report.parts.first() else { panic!("no table: {sql}") };
    table.rows.clone()
}

/// Figures by name: the first column of the query, and the integers behind it.
fn by_name<const N: usize>(workspace: &Workspace, sql: &str) -> BTreeMap<String, [i64; N]> {
    let figures = |row: Vec<Cell>| {
        let Some((Cell::Text(name), values)) = row.split_first() else { panic!("no name: {sql}") };
        let values: Vec<i64> = values.iter().map(int).collect();
        (name.clone(), values.try_into().unwrap())
    };
    rows(workspace, sql).into_iter().map(figures).collect()
}

fn int(cell: &Cell) -> i64 {
    let Cell::Int(value) = cell else { panic!("no integer: {cell:?}") };
    *value
}

#[test]
fn calls_and_times_are_those_of_torch() {
    let workspace = recording();
    let ours = by_name::<4>(
        &workspace,
        "SELECT name, sum(spans), sum(calls), sum(host_self_ns), sum(host_total_ns)
         FROM op_rollup WHERE name IS NOT NULL GROUP BY name",
    );
    let lengths = by_name::<1>(&workspace, "SELECT name, sum(dur_ns) FROM spans WHERE kind = 'op' GROUP BY name");
    let torch = torch("by_name");
    assert!(torch.len() > 100);
    assert!(ours.keys().eq(torch.iter().map(|row| &row.name).collect::<BTreeSet<_>>()));
    for row in &torch {
        let name = row.name.as_str();
        let [spans, calls, self_ns, total_ns] = ours[name];
        if WITH_FRAMES_INSIDE.contains(&name) {
            assert_eq!(spans, row.calls, "{name}");
            assert!(self_ns > row.self_ns, "{name}");
        } else {
            assert_eq!(calls, row.calls, "{name}");
            assert_eq!(self_ns, row.self_ns, "{name}");
        }
        if RECURSIVE.contains(&name) {
            assert_eq!(lengths[name], [row.total_ns], "{name}");
            assert!(total_ns < row.total_ns, "{name}");
        } else {
            assert_eq!(total_ns, row.total_ns, "{name}");
        }
    }
    // The recording has calls that are seen twice, on their way to another implementation.
    assert!(ours["aten::div"][0] > ours["aten::div"][1]);
}

#[test]
fn memory_is_that_of_torch() {
    let workspace = recording();
    let self_bytes = by_name::<1>(
        &workspace,
        "SELECT op.name, sum(event.size_bytes)
         FROM memory_events AS event JOIN spans AS op ON op.span_id = event.operator_id
         GROUP BY op.name",
    );
    // A call that is seen twice counts once; other calls inside of themselves count again, as they do in torch.
    let total_bytes = by_name::<1>(
        &workspace,
        "SELECT op.name, sum(event.size_bytes)
         FROM host_ops AS op JOIN memory_events AS event
           ON event.track_id = op.track_id AND event.ts_ns >= op.start_ns AND event.ts_ns < op.end_ns
         WHERE op.parent_op_name IS DISTINCT FROM op.name
         GROUP BY op.name",
    );
    let of = |sums: &BTreeMap<String, [i64; 1]>, name: &str| sums.get(name).map_or(0, |[bytes]| *bytes);
    let torch = torch("by_name");
    assert!(torch.iter().filter(|row| row.self_bytes != 0).count() > 20);
    for row in torch.iter().filter(|row| !WITH_FRAMES_INSIDE.contains(&row.name.as_str())) {
        assert_eq!(of(&self_bytes, &row.name), row.self_bytes, "{}", row.name);
        assert_eq!(of(&total_bytes, &row.name), row.total_bytes, "{}", row.name);
    }
}

#[test]
fn shapes_divide_operators_as_in_torch() {
    let workspace = recording();
    let mut ours: BTreeMap<(String, String), [i64; 3]> = BTreeMap::new();
    for row in rows(
        &workspace,
        "SELECT name, input_dims, sum(calls), sum(host_self_ns), sum(host_total_ns)
         FROM op_rollup WHERE name IS NOT NULL GROUP BY name, input_dims",
    ) {
        let Cell::Text(name) = &row[0] else { panic!("no name") };
        let sums = ours.entry((name.clone(), shapes_of_torch(&row[1]).to_string())).or_default();
        for (sum, cell) in sums.iter_mut().zip(&row[2..]) {
            *sum += int(cell);
        }
    }
    let torch = torch("by_name_and_shape");
    assert_eq!(torch.len(), ours.len());
    for row in torch.iter().filter(|row| !RECURSIVE.contains(&row.name.as_str())) {
        let key = (row.name.clone(), row.shapes.to_string());
        assert_eq!(ours.get(&key), Some(&[row.calls, row.self_ns, row.total_ns]), "{key:?}");
    }
}

/// Shapes as the profiler hands them out: none where nothing was recorded, and none of the tensors in a list.
fn shapes_of_torch(dims: &Cell) -> Json {
    let Cell::Text(dims) = dims else { return Json::Array(Vec::new()) };
    let mut shapes: Vec<Json> = serde_json::from_str(dims).unwrap();
    for shape in &mut shapes {
        if shape[0].is_array() {
            *shape = Json::Array(Vec::new());
        }
    }
    Json::Array(shapes)
}

#[test]
fn flops_are_those_of_torch() {
    let ours = by_name::<1>(&recording(), "SELECT name, sum(flops) FROM ops_with_flops GROUP BY name");
    let torch: BTreeMap<String, i64> =
        torch("by_name").into_iter().filter(|row| row.flops > 0).map(|row| (row.name, row.flops)).collect();
    let common: Vec<&str> = ours.keys().filter(|name| torch.contains_key(*name)).map(String::as_str).collect();
    assert_eq!(common, ["aten::addmm", "aten::bmm", "aten::mm"]);
    for name in common {
        assert_eq!(ours[name], [torch[name]], "{name}");
    }
    assert_eq!(ours["aten::convolution"], [torch["aten::conv2d"]]);
    assert!(ours.keys().filter(|name| !torch.contains_key(*name)).eq(FLOPS_OF_OURS.iter()));
    assert!(torch.keys().filter(|name| !ours.contains_key(*name)).eq(FLOPS_OF_TORCH.iter()));
}
