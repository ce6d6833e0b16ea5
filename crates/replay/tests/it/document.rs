//! Models as the documents of A13, for comparison.

use serde_json::{Map, Value, json};
use stepscope_replay::{JobModel, PathClass, StepModel};

/// Everything that a document has.
pub(crate) fn document(model: &StepModel) -> Value {
    Value::Object(stepscope_replay::document::document(model))
}

/// Everything that a document of several ranks has.
pub(crate) fn job_document(model: &JobModel) -> Value {
    let ranks: Vec<u32> = model.recordings().map(|recording| recording.rank).collect();
    let steps = model.steps().into_iter().zip(model.paths()).map(|(step, path)| {
        let on = ranks.iter().map(u32::to_string).zip(path.on_rank_ns);
        let on = on.chain([("join".to_owned(), path.transfer_ns)]).filter(|(_, dur_ns)| *dur_ns > 0);
        json!({
            "duration_ns": step.dur_ns(),
            "classes_ns": classes(&path.classes_ns),
            "on_rank_ns": on.map(|(place, dur_ns)| (place, dur_ns.into())).collect::<Map<String, Value>>(),
        })
    });
    let identity = ranks.iter().enumerate().map(|(place, rank)| {
        let value = json!({
            "recorded_ns": model.rank_recorded_ns(place).iter().sum::<i64>(),
            "strict_ns": model.rank_strict_ns(place).iter().sum::<i64>(),
            "strict_error_ratio": model.rank_strict_error_ratio(place),
        });
        (rank.to_string(), value)
    });
    let equal = model.equal_ranks().unwrap();
    let local = ranks.iter().zip(equal.local_ns).map(|(rank, local_ns)| (rank.to_string(), local_ns.into()));
    json!({
        "ranks": ranks,
        "clock_offset_ns": model.clock_offsets_ns(),
        "collectives": model.collective_count(),
        "joined": model.join_count(),
        "steps": steps.collect::<Vec<Value>>(),
        "identity": identity.collect::<Map<String, Value>>(),
        "equal_ranks": {
            "median_rank": ranks[equal.median],
            "local_ns": local.collect::<Map<String, Value>>(),
            "step_ns": equal.step_ns,
        },
    })
}

fn classes(classes_ns: &[i64; PathClass::ALL.len()]) -> Map<String, Value> {
    let class = |class: PathClass| (class.as_text().to_owned(), classes_ns[class as usize].into());
    PathClass::ALL.into_iter().map(class).collect()
}
