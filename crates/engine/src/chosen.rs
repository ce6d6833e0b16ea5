//! Which recordings a query asks for, from its conditions on rank and window.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::Session;
use datafusion::common::DFSchema;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use stepscope_model::SourceId;
use stepscope_model::tables::SOURCE_COLUMNS;

/// Whether a condition is about nothing but rank and window.
pub(crate) fn is_about_source(condition: &Expr) -> bool {
    let is_of_source = |name: &str| SOURCE_COLUMNS.iter().any(|column| column.name == name);
    condition.column_refs().iter().all(|column| is_of_source(&column.name))
}

/// The recordings that pass those of the conditions that are about rank and window.
pub(crate) fn chosen(
    recordings: &[SourceId],
    state: &dyn Session,
    conditions: &[Expr],
) -> Result<Vec<SourceId>, DataFusionError> {
    let conditions: Vec<&Expr> = conditions.iter().filter(|condition| is_about_source(condition)).collect();
    if conditions.is_empty() {
        return Ok(recordings.to_vec());
    }
    let column = |number: fn(&SourceId) -> u32| -> ArrayRef {
        Arc::new(recordings.iter().map(|id| number(id) as i32).collect::<Int32Array>())
    };
    let fields = SOURCE_COLUMNS.iter().map(|column| Field::new(column.name, DataType::Int32, false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let ids = RecordBatch::try_new(Arc::clone(&schema), vec![column(|id| id.rank), column(|id| id.window)])?;
    let names = DFSchema::try_from(schema)?;
    let mut is_chosen = vec![true; recordings.len()];
    for condition in conditions {
        let condition = state.create_physical_expr(condition.clone(), &names)?;
        let passes = condition.evaluate(&ids)?.into_array(ids.num_rows())?;
        let passes = passes.as_boolean().iter().map(|passes| passes == Some(true));
        is_chosen.iter_mut().zip(passes).for_each(|(is_chosen, passes)| *is_chosen &= passes);
    }
    Ok(recordings.iter().zip(is_chosen).filter_map(|(id, is_chosen)| is_chosen.then_some(*id)).collect())
}
