//! A model as the document of A13, for comparison.

use serde_json::{Map, Value, json};
use stepscope_model::Kind;
use stepscope_replay::{Change, EdgeKind, PathClass, Saving, Selection, StepModel};

/// The changes of documents, by name.
pub(crate) fn documented_changes(model: &StepModel) -> Vec<(&'static str, Change)> {
    let kernels =
        Selection::of_events(model.recording(), |event| event.kind == Kind::Kernel && !event.is_communication);
    vec![
        ("kernels_half", Change::Scale { of: kernels, numerator: 1, denominator: 2 }),
        ("no_communication", Change::NoCommunication),
        ("communication_overlapped", Change::CommunicationOverlapped),
        ("no_copies", Change::NoCopies),
        ("async_copies_to_device", Change::AsyncCopiesToDevice),
        ("no_sync", Change::NoSync),
        ("input_ready", Change::InputReady),
        ("host_half", Change::HostHalf),
        ("cuda_graph", Change::CudaGraph),
    ]
}

/// Everything that a document has.
pub(crate) fn document(model: &StepModel) -> Value {
    let edges = EdgeKind::ALL.into_iter().map(|kind| (kind.as_text().to_owned(), model.edge_count(kind)));
    let edges: Map<String, Value> =
        edges.filter(|(_, count)| *count > 0).map(|(kind, count)| (kind, count.into())).collect();
    let notes: Map<String, Value> = model.notes.iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let whatif =
        documented_changes(model).into_iter().map(|(name, change)| (name.to_owned(), saving(&model.saving(&[change]))));
    let recorded = model.recorded_ns();
    json!({
        "step_source": model.recording().step_source.as_text(),
        "steps": recorded.len(),
        "nodes": model.node_count(),
        "edges": edges,
        "notes": notes,
        "typical_ns": {
            "launch": model.typical.launch_ns,
            "gap": model.typical.gap_ns,
            "return": model.typical.return_ns,
            "own": model.typical.own_ns,
        },
        "queue_limit": model.queue_limits,
        "path": path(model),
        "identity": {
            "recorded_ns": recorded.iter().sum::<i64>(),
            "anchored_ns": model.anchored_ns().iter().sum::<i64>(),
            "strict_ns": model.strict_ns().iter().sum::<i64>(),
            "strict_error_ratio": model.strict_error_ratio(),
            "starts_explained_ratio": model.starts_explained_ratio(),
        },
        "unexplained_ratio": model.unexplained_ratio(),
        "savings_null": model.savings_null(),
        "whatif": whatif.collect::<Map<String, Value>>(),
    })
}

fn path(model: &StepModel) -> Vec<Value> {
    let paths = model.paths();
    let lengths = model.anchored_ns().iter().zip(model.strict_ns());
    let rows = model.steps().iter().zip(&paths).zip(lengths);
    rows.map(|((step, path), (anchored, strict))| {
        let classes = PathClass::ALL
            .into_iter()
            .map(|class| (class.as_text().to_owned(), path.classes_ns[class as usize].into()));
        json!({
            "name": step.name,
            "duration_ns": step.dur_ns,
            "anchored_ns": anchored,
            "strict_ns": strict,
            "strict_error_ratio": (step.dur_ns != 0).then(|| *strict as f64 / step.dur_ns as f64 - 1.0),
            "segments": path.pieces.len(),
            "classes_ns": classes.collect::<Map<String, Value>>(),
        })
    })
    .collect()
}

fn saving(saving: &Saving) -> Value {
    json!({
        "anchored_ns": saving.anchored_ns,
        "strict_ns": saving.strict_ns,
        "saving_ns": saving.saving_ns,
        "low_ns": saving.low_ns,
        "high_ns": saving.high_ns,
    })
}

/// Adds a line for every value that differs: integers at all, others by more than a billionth.
pub(crate) fn compare(place: &str, got: &Value, want: &Value, differences: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for name in got.keys().chain(want.keys().filter(|name| !got.contains_key(*name))) {
                let missing = Value::Null;
                let [got, want] = [got, want].map(|object| object.get(name).unwrap_or(&missing));
                compare(&format!("{place}.{name}"), got, want, differences);
            }
        }
        (Value::Array(got), Value::Array(want)) if got.len() == want.len() => {
            for (number, (got, want)) in got.iter().zip(want).enumerate() {
                compare(&format!("{place}[{number}]"), got, want, differences);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-9 * a.abs().max(b.abs()).max(1e-3) {
                differences.push(format!("{place}: {a} is not {b}"));
            }
        }
        (got, want) if got == want => {}
        (got, want) => differences.push(format!("{place}: {got} is not {want}")),
    }
}
