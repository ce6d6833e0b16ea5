//! Kernels by name (metrics, section 11).

use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{ZERO_DURATION, argument_not_recorded};
use stepscope_runs::{Frame, RunError};

use super::{Measuring, distribution, ratio};

/// Names that are listed, most time first.
const LISTED: usize = 50;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let kernels = measuring.query(&format!(
        "WITH by_name AS (
           SELECT name, count(comm_rule) AS communication, count(operator_id) AS linked_to_op,
                  count(blocks_per_sm) AS blocks_count, sum(blocks_per_sm * self_ns) AS blocks_sum,
                  sum(self_ns) FILTER (WHERE blocks_per_sm IS NOT NULL) AS blocks_ns,
                  count(est_achieved_occupancy_percent) AS occupancy_count,
                  sum(est_achieved_occupancy_percent * self_ns) AS occupancy_sum,
                  sum(self_ns) FILTER (WHERE est_achieved_occupancy_percent IS NOT NULL) AS occupancy_ns,
                  {}
           FROM device_events WHERE {{source}} AND kind = 'kernel' GROUP BY name
         )
         SELECT *, count(*) OVER () AS all_names, sum(dur_count) OVER () AS all_count, sum(dur_total) OVER () AS all_ns
         FROM by_name ORDER BY dur_total DESC, name LIMIT {LISTED}",
        distribution::columns("dur", "self_ns", "true")
    ))?;
    let whole = |name: &str| kernels.required_i64(name).map(|values| values.first().copied().unwrap_or(0));
    let all_ns = whole("all_ns")?;
    let (names, communication) = (kernels.text("name")?, kernels.required_i64("communication")?);
    let linked = kernels.required_i64("linked_to_op")?;
    let blocks = weighted(measuring, &kernels, "blocks", ("blocks_per_sm", "blocks per SM"))?;
    let occupancy = weighted(measuring, &kernels, "occupancy", ("occupancy_ratio", "est. achieved occupancy %"))?;
    let mut rows = Vec::with_capacity(kernels.rows());
    for (row, figures) in distribution::figures(&kernels, "dur")?.into_iter().enumerate() {
        let mut figures = Json::Object(figures.unwrap_or_default());
        figures["kernel_time_ratio"] = ratio(figures["total_ns"].as_f64().unwrap_or(0.0), all_ns);
        figures["name"] = Json::from(names[row].clone());
        figures["communication"] = Json::from(communication[row]);
        figures["blocks_per_sm"] = Json::from(blocks[row]);
        figures["occupancy_ratio"] = Json::from(occupancy[row].map(|percent| percent / 100.0));
        figures["linked_to_op"] = Json::from(linked[row]);
        rows.push(figures);
    }
    Ok(json!({
        "distinct": whole("all_names")?,
        "count": whole("all_count")?,
        "total_ns": all_ns,
        "rows": rows,
    }))
}

/// The mean of an argument over the kernels that carry it, weighted by their time. `named` is the member and the
/// argument, to say why one is missing.
fn weighted(
    measuring: &mut Measuring<'_>,
    kernels: &Frame,
    prefix: &str,
    (member, argument): (&str, &str),
) -> Result<Vec<Option<f64>>, RunError> {
    let counts = kernels.required_i64(&format!("{prefix}_count"))?;
    let (sums, times) = (kernels.f64(&format!("{prefix}_sum"))?, kernels.i64(&format!("{prefix}_ns"))?);
    let mut means = Vec::with_capacity(counts.len());
    for (row, (sum, time)) in sums.into_iter().zip(times).enumerate() {
        let mean = sum.zip(time.filter(|time| *time > 0)).map(|(sum, time)| sum / time as f64);
        if mean.is_none() {
            let reason = if counts[row] > 0 { ZERO_DURATION.to_owned() } else { argument_not_recorded(argument) };
            measuring.missing(&format!("kernels.rows[{row}].{member}"), reason);
        }
        means.push(mean);
    }
    Ok(means)
}
