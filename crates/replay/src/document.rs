//! Models as the documents of A13.

use serde_json::{Map, Value, json};
use stepscope_model::Kind;

use crate::changes::Change;
use crate::class::{EdgeKind, PathClass};
use crate::job::{JobModel, JobPath, JobStep};
use crate::model::StepModel;
use crate::recording::Recording;
use crate::saving::Saving;
use crate::selection::Selection;

/// The members of a document, in their order.
pub const MEMBERS: [&str; 12] = [
    "step_source",
    "steps",
    "nodes",
    "edges",
    "notes",
    "typical_ns",
    "queue_limit",
    "path",
    "identity",
    "unexplained_ratio",
    "savings_null",
    "whatif",
];

/// The members of a document of several ranks, in their order.
pub const JOB_MEMBERS: [&str; 7] =
    ["ranks", "clock_offset_ns", "collectives", "joined", "steps", "identity", "equal_ranks"];

/// The changes of documents, by name.
#[must_use]
pub fn documented_changes(recording: &Recording) -> Vec<(&'static str, Change)> {
    let kernels = Selection::of_events(recording, |event| event.kind == Kind::Kernel && !event.is_communication);
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
#[must_use]
pub fn document(model: &StepModel) -> Map<String, Value> {
    MEMBERS.into_iter().map(|name| (name.to_owned(), member(model, name))).collect()
}

/// One member of a document; null if it has none of that name.
#[must_use]
pub fn member(model: &StepModel, name: &str) -> Value {
    let recorded = model.recorded_ns();
    match name {
        "step_source" => model.recording().step_source.as_text().into(),
        "steps" => recorded.len().into(),
        "nodes" => model.node_count().into(),
        "edges" => {
            let edges = EdgeKind::ALL.into_iter().map(|kind| (kind.as_text(), model.edge_count(kind)));
            edges.filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_owned(), Value::from(count))).collect()
        }
        "notes" => model.notes.iter().map(|(name, count)| (name.to_owned(), Value::from(count))).collect(),
        "typical_ns" => json!({
            "launch": model.typical.launch_ns,
            "gap": model.typical.gap_ns,
            "return": model.typical.return_ns,
            "own": model.typical.own_ns,
        }),
        "queue_limit" => json!(model.queue_limits),
        "path" => path(model).into(),
        "identity" => json!({
            "recorded_ns": recorded.iter().sum::<i64>(),
            "anchored_ns": model.anchored_ns().iter().sum::<i64>(),
            "strict_ns": model.strict_ns().iter().sum::<i64>(),
            "strict_error_ratio": model.strict_error_ratio(),
            "starts_explained_ratio": model.starts_explained_ratio(),
        }),
        "unexplained_ratio" => json!(model.unexplained_ratio()),
        "savings_null" => json!(model.savings_null()),
        "whatif" => {
            let changes = documented_changes(model.recording()).into_iter();
            changes.map(|(name, change)| (name.to_owned(), saving(&model.saving(&[change])))).collect()
        }
        _ => Value::Null,
    }
}

fn path(model: &StepModel) -> Vec<Value> {
    let paths = model.paths();
    let lengths = model.anchored_ns().iter().zip(model.strict_ns());
    let rows = model.steps().iter().zip(&paths).zip(lengths);
    rows.map(|((step, path), (anchored, strict))| {
        json!({
            "name": step.name,
            "duration_ns": step.dur_ns,
            "anchored_ns": anchored,
            "strict_ns": strict,
            "strict_error_ratio": (step.dur_ns != 0).then(|| *strict as f64 / step.dur_ns as f64 - 1.0),
            "segments": path.pieces.len(),
            "classes_ns": classes(&path.classes_ns),
        })
    })
    .collect()
}

fn classes(classes_ns: &[i64; PathClass::ALL.len()]) -> Map<String, Value> {
    let class = |class: PathClass| (class.as_text().to_owned(), classes_ns[class as usize].into());
    PathClass::ALL.into_iter().map(class).collect()
}

/// Everything that a document of several ranks has.
#[must_use]
pub fn job_document(model: &JobModel) -> Map<String, Value> {
    JOB_MEMBERS.into_iter().map(|name| (name.to_owned(), job_member(model, name))).collect()
}

/// One member of a document of several ranks; null if it has none of that name.
#[must_use]
pub fn job_member(model: &JobModel, name: &str) -> Value {
    let ranks: Vec<u32> = model.recordings().map(|recording| recording.rank).collect();
    match name {
        "ranks" => json!(ranks),
        "clock_offset_ns" => json!(model.clock_offsets_ns()),
        "collectives" => model.collective_count().into(),
        "joined" => model.join_count().into(),
        "steps" => {
            let step = |(step, path): (JobStep, JobPath)| {
                let on = ranks.iter().map(u32::to_string).zip(path.on_rank_ns);
                let on = on.chain([("join".to_owned(), path.transfer_ns)]).filter(|(_, dur_ns)| *dur_ns > 0);
                json!({
                    "duration_ns": step.dur_ns(),
                    "classes_ns": classes(&path.classes_ns),
                    "on_rank_ns": on.map(|(place, dur_ns)| (place, dur_ns.into())).collect::<Map<String, Value>>(),
                })
            };
            model.steps().into_iter().zip(model.paths()).map(step).collect()
        }
        "identity" => {
            let identity = |(place, rank): (usize, &u32)| {
                let value = json!({
                    "recorded_ns": model.rank_recorded_ns(place).iter().sum::<i64>(),
                    "strict_ns": model.rank_strict_ns(place).iter().sum::<i64>(),
                    "strict_error_ratio": model.rank_strict_error_ratio(place),
                });
                (rank.to_string(), value)
            };
            ranks.iter().enumerate().map(identity).collect()
        }
        "equal_ranks" => {
            let Ok(equal) = model.equal_ranks() else { return Value::Null };
            let local = ranks.iter().zip(equal.local_ns).map(|(rank, local_ns)| (rank.to_string(), local_ns.into()));
            json!({
                "median_rank": ranks[equal.median],
                "local_ns": local.collect::<Map<String, Value>>(),
                "step_ns": equal.step_ns,
            })
        }
        _ => Value::Null,
    }
}

/// A saving as a member of a document.
#[must_use]
pub fn saving(saving: &Saving) -> Value {
    json!({
        "anchored_ns": saving.anchored_ns,
        "strict_ns": saving.strict_ns,
        "saving_ns": saving.saving_ns,
        "low_ns": saving.low_ns,
        "high_ns": saving.high_ns,
    })
}
