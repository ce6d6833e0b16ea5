//! A model as the document of A13, for comparison.

use serde_json::Value;
use stepscope_replay::StepModel;

/// Everything that a document has.
pub(crate) fn document(model: &StepModel) -> Value {
    Value::Object(stepscope_replay::document::document(model))
}
