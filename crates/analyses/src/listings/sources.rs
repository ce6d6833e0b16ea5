//! The recordings of a run, in short.

use stepscope_engine::CancelFlag;
use stepscope_model::{SourceId, SourceRecord, SourceSummary};
use stepscope_runs::{Frame, OpenRun, RunError};

use super::health;

const STEPS: &str = "SELECT rank, \"window\", count(*) AS steps FROM steps WHERE is_complete GROUP BY rank, \"window\"";

/// Every recording, with its health and how many steps are complete.
pub fn summaries(run: &OpenRun) -> Result<Vec<SourceSummary>, RunError> {
    let grades = health::grades(run.engine_of_what_is_there()?, run.sources())?;
    let steps = Frame::new(run.ask(STEPS, &CancelFlag::default())?);
    let (ranks, windows) = (steps.required_i64("rank")?, steps.required_i64("window")?);
    let counts = steps.required_i64("steps")?;
    let summary = |source: &SourceRecord| {
        let SourceId { rank, window } = source.id;
        let row = (0..counts.len()).find(|&row| (ranks[row], windows[row]) == (rank.into(), window.into()));
        let names = source.devices.iter().flatten().filter_map(|device| device.name.clone());
        SourceSummary {
            rank,
            window,
            events: source.events_in,
            first_ns: source.first_event_ns,
            last_ns: source.last_event_ns,
            health: grades.get(&source.id).and_then(|standing| standing.grade),
            devices: names.filter(|name| !name.is_empty()).collect(),
            complete_steps: row.map_or(0, |row| counts[row] as u64),
            rows: source.rows.iter().map(|(table, rows)| (table.name.to_owned(), rows)).collect(),
        }
    };
    Ok(run.sources().iter().map(summary).collect())
}
