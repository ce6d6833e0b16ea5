//! The rows of the table `critical_path`.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use stepscope_model::derived_tables::CRITICAL_PATH;
use stepscope_model::{SourceId, SourceRecord};
use stepscope_replay::{Piece, StepModel};
use stepscope_store::{Catalog, read_schema};

use crate::error::RunError;
use crate::step_models::StepModels;

/// What works out the critical paths of a recording of a run.
pub(crate) struct CriticalPaths {
    pub(crate) catalog: Catalog,
    pub(crate) sources: Arc<[SourceRecord]>,
    pub(crate) step_models: Arc<StepModels>,
}

impl CriticalPaths {
    /// The pieces of the usual window of steps. A recording without a path has none.
    pub(crate) fn rows(&self, id: SourceId) -> Result<RecordBatch, Box<dyn Error + Send + Sync>> {
        let Some(source) = self.sources.iter().find(|source| source.id == id) else {
            return Err(RunError::Shape("a recording that the run does not have".to_owned()).into());
        };
        let modeled = self.step_models.of(&self.catalog, source, None)?;
        let Ok(window) = modeled else { return Ok(RecordBatch::new_empty(read_schema(&CRITICAL_PATH))) };
        Ok(batch(id, &window.model)?)
    }
}

fn batch(id: SourceId, model: &StepModel) -> Result<RecordBatch, arrow::error::ArrowError> {
    let recording = model.recording();
    let paths = model.paths();
    let places = recording.window.steps.clone();
    let pieces: Vec<(usize, usize, &Piece)> = places
        .zip(&paths)
        .flat_map(|(step, path)| path.pieces.iter().enumerate().map(move |(place, piece)| (step, place, piece)))
        .collect();
    let numbers = |number: &dyn Fn(&(usize, usize, &Piece)) -> i32| -> ArrayRef {
        Arc::new(pieces.iter().map(number).collect::<Int32Array>())
    };
    let times = |time: &dyn Fn(&Piece) -> i64| -> ArrayRef {
        Arc::new(pieces.iter().map(|(_, _, piece)| time(piece)).collect::<Int64Array>())
    };
    let names = pieces.iter().map(|(_, _, piece)| Some(piece.row_name(recording)).filter(|name| !name.is_empty()));
    RecordBatch::try_new(
        read_schema(&CRITICAL_PATH),
        vec![
            numbers(&|_| id.rank as i32),
            numbers(&|_| id.window as i32),
            numbers(&|(step, _, _)| *step as i32),
            numbers(&|(_, place, _)| *place as i32),
            Arc::new(StringViewArray::from_iter_values(pieces.iter().map(|(_, _, piece)| piece.class.as_text()))),
            times(&|piece| piece.start_ns),
            times(&Piece::dur_ns),
            times(&|piece| piece.span_id(recording)),
            Arc::new(names.collect::<StringViewArray>()),
        ],
    )
}
