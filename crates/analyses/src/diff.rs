//! What differs between two runs: their steps as distributions, and where the difference per step goes, exactly (A10).

mod document;
mod kernels;
mod rows;
mod side;

use serde_json::Value as Json;
use stepscope_runs::{OpenRun, RunError};

use self::side::Side;
use crate::{Asking, Question};

/// Compares the usual windows of two runs; the reason if one has none.
pub fn diff_document(a: &OpenRun, b: &OpenRun, question: &Question) -> Result<Result<Json, &'static str>, RunError> {
    let side = |run: &OpenRun| Side::of(&Asking::of(run, question)?);
    let (a, b) = (side(a)?, side(b)?);
    Ok(a.and_then(|a| Ok(document::document(&a, &b?))))
}
