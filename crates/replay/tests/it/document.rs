//! Models as the documents of A13, for comparison.

use serde_json::Value;
use stepscope_replay::{JobModel, StepModel};

/// Everything that a document has.
pub(crate) fn document(model: &StepModel) -> Value {
    Value::Object(stepscope_replay::document::document(model))
}

/// Everything that a document of several ranks has.
pub(crate) fn job_document(model: &JobModel) -> Value {
    Value::Object(stepscope_replay::document::job_document(model))
}
