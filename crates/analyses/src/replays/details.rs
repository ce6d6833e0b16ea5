//! What a recording leaves out and rules need: arguments of kernels and operators in the time of a window.

use stepscope_model::SourceId;
use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_replay::StepModel;
use stepscope_runs::RunError;

use super::condition;
use super::evidence::Details;
use crate::Asking;
use crate::tensor_cores::ELIGIBLE;

/// Reads them for the steps of a model.
pub(super) fn read(asking: &Asking<'_>, of: SourceId, model: &StepModel) -> Result<Details, RunError> {
    let mut details = Details { overheads: overheads(asking, of, model)?, ..Details::default() };
    if model.recording().events.is_empty() {
        return Ok(details);
    }
    let of_window = in_window(of, model);
    // Kernels that communicate have few blocks whatever the batch is.
    let rows = asking.query(&format!(
        "SELECT span_id, blocks_per_sm FROM device_events
         WHERE {{source}} AND {of_window} AND class = 'compute' AND blocks_per_sm < 1"
    ))?;
    details.blocks_per_sm =
        rows.required_i64("span_id")?.into_iter().zip(rows.f64("blocks_per_sm")?.into_iter().flatten()).collect();
    if asking.has_rows(&ALL_COLLECTIVES) {
        let rows = asking.query(&format!(
            "SELECT span_id, message_bytes FROM all_collectives
             WHERE {{source}} AND {of_window} AND NOT is_host AND message_bytes > 0"
        ))?;
        details.collective_bytes =
            rows.required_i64("span_id")?.into_iter().zip(rows.required_i64("message_bytes")?).collect();
    }
    let eligible: Vec<String> = ELIGIBLE.iter().map(|part| format!("name LIKE '%{part}%'")).collect();
    let rows = asking.query(&format!(
        "SELECT span_id, input_types LIKE '[\"float\"%' AS is_float FROM spans
         WHERE {{source}} AND {of_window} AND kind = 'op' AND input_types IS NOT NULL AND ({})",
        eligible.join(" OR ")
    ))?;
    let are_float = rows.bool("is_float")?.into_iter().map(|is_float| is_float == Some(true));
    details.is_float = rows.required_i64("span_id")?.into_iter().zip(are_float).collect();
    Ok(details)
}

/// The time of the profiler itself: start and length.
fn overheads(asking: &Asking<'_>, of: SourceId, model: &StepModel) -> Result<Vec<(i64, i64)>, RunError> {
    let rows = asking.query(&format!(
        "SELECT start_ns, dur_ns FROM spans WHERE {{source}} AND {} AND kind = 'overhead' ORDER BY start_ns",
        in_window(of, model)
    ))?;
    Ok(rows.required_i64("start_ns")?.into_iter().zip(rows.required_i64("dur_ns")?).collect())
}

/// What a row must have to be of the steps of a model.
fn in_window(of: SourceId, model: &StepModel) -> String {
    let until_ns = model.steps().iter().map(|step| step.end_ns().max(step.host_end_ns())).max().unwrap_or(0);
    format!("{} AND start_ns BETWEEN {} AND {until_ns}", condition(of), model.recording().window.start_ns)
}
