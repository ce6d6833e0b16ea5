//! Recordings on their way into a bucket.

use std::path::Path;

use stepscope_ingest::Progress;
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable};
use stepscope_runs::{RunError, Settings};

use super::Workspace;

impl Workspace {
    /// Uploads the recordings of a store in a folder to the store of the settings, or without one those that wait in the
    /// spool; one row per place.
    pub fn upload(folder: Option<&Path>, settings: &Settings, progress: &dyn Progress) -> Result<Report, RunError> {
        let places = match folder {
            Some(folder) => vec![stepscope_runs::upload_store(folder, settings, progress)?],
            None => stepscope_runs::upload_spool(settings, progress)?,
        };
        let count = |count: u64| count as i64;
        let named = ReportColumn::named;
        let table = ReportTable::of("rows", &places)
            .column(named("place"), |place| place.place.clone())
            .column(named("uploaded"), |place| count(place.uploaded))
            .column(named("by_others"), |place| count(place.by_others))
            .column(named("found"), |place| count(place.found))
            .column(named("left"), |place| count(place.left))
            .column(named("bytes"), |place| count(place.bytes))
            .column(named("error"), |place| place.error.as_ref().map(ToString::to_string))
            .table();
        Ok(Report::new("upload", vec![Part::Table(table)]))
    }

    /// What waits in the spool, in one row.
    pub fn spool() -> Result<Report, RunError> {
        let (folder, state) = stepscope_runs::spool_state()?;
        let count = |count: u64| Cell::Int(count as i64);
        let named = ReportColumn::named;
        let columns = ["path", "recordings", "bytes", "oldest_s", "refused"].map(named).to_vec();
        let oldest = state.oldest.map_or(Cell::Null, |age| Cell::Float(age.as_secs_f64().round()));
        let row = vec![
            Cell::Text(folder.display().to_string()),
            count(state.packs),
            count(state.bytes),
            oldest,
            count(state.refused),
        ];
        Ok(Report::new("spool", vec![Part::Table(ReportTable::named("rows", columns, vec![row]))]))
    }
}
