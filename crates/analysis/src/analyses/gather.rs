//! Measures what the rules need to know.

mod loading_regions;

use stepscope_model::Class;
use stepscope_model::tables::{COLLECTIVES, MEMORY_EVENTS};

use super::step_times::{self, StepTime, in_complete};
use super::{Asking, comms};
use crate::error::AnalysisError;
use crate::frame::Frame;
use crate::rules::Facts;
use crate::tensor_cores::TensorCoreNames;

/// Parts of the names of operators that tensor cores can do.
const ELIGIBLE: [&str; 10] = [
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "convolution",
    "aten::linear",
    "aten::matmul",
    "attention",
    "aten::_scaled_mm",
    "cudnn_rnn",
];

/// The facts about the recordings that are asked about. `steps` are theirs.
pub(super) fn gather(asking: &Asking<'_>, steps: &[StepTime]) -> Result<Facts, AnalysisError> {
    let mut facts = Facts::default();
    add_steps(&mut facts, steps);
    let complete = in_complete(steps);
    add_annotations(asking, &complete, &mut facts)?;
    if facts.loaders.is_empty() {
        loading_regions::add(asking, &complete, &mut facts)?;
    }
    add_operators(asking, &complete, &mut facts)?;
    if facts.device_events > 0 {
        add_kernels(asking, &complete, &mut facts)?;
        add_launches(asking, &complete, &mut facts)?;
        add_copies(asking, &complete, &mut facts)?;
    }
    if asking.has_rows(MEMORY_EVENTS.name) {
        add_memory(asking, &mut facts)?;
    }
    add_ranks(asking, &mut facts)?;
    Ok(facts)
}

fn add_steps(facts: &mut Facts, steps: &[StepTime]) {
    for step in steps.iter().filter(|step| step.is_complete) {
        facts.steps += 1;
        facts.step_ns += step.dur_ns;
        facts.device_events += step.device_events;
        let Some(shares) = &step.shares else { continue };
        facts.by_class.iter_mut().zip(shares.by_class).for_each(|(sum, ns)| *sum += ns);
        facts.kernel_busy_ns += shares.kernel_busy_ns;
        let loading = shares.of(Class::Dataloader);
        let range = facts.loading_range_ns.get_or_insert((loading, loading));
        *range = (range.0.min(loading), range.1.max(loading));
    }
}

fn add_annotations(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), AnalysisError> {
    let rows = asking.query(&format!(
        "SELECT name, count(*) AS calls, sum(dur_ns) AS dur_ns FROM spans
         WHERE {{events}} AND {complete} AND kind = 'ann' AND phase = 'X' AND (
           name LIKE 'enumerate(Data%' OR name IN ('DataParallel.forward', 'DistributedDataParallel.forward')
           OR name LIKE 'gloo:%' OR name LIKE 'mpi:%' OR name LIKE 'ucc:%')
         GROUP BY name ORDER BY name",
    ))?;
    let (calls, durations) = (rows.required_i64("calls")?, rows.required_i64("dur_ns")?);
    for (row, name) in rows.text("name")?.into_iter().flatten().enumerate() {
        if name.starts_with("enumerate(") {
            facts.loaders.insert(name, calls[row]);
        } else if name == "DataParallel.forward" {
            facts.data_parallel_ns += durations[row];
        } else if name == "DistributedDataParallel.forward" {
            facts.has_ddp = true;
        } else if let Some((backend, _)) = name.split_once(':') {
            *facts.host_backends.entry(backend.to_owned()).or_default() += durations[row];
        }
    }
    Ok(())
}

fn add_operators(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), AnalysisError> {
    let rows = asking.query(&format!(
        "SELECT name, sum(calls) AS calls, sum(device_self_ns) AS device_ns FROM op_rollup
         WHERE {{steps}} AND {complete} AND name IS NOT NULL GROUP BY name ORDER BY device_ns DESC, name",
    ))?;
    let (calls, device) = (rows.required_i64("calls")?, rows.required_i64("device_ns")?);
    for (row, name) in rows.text("name")?.into_iter().flatten().enumerate() {
        if ELIGIBLE.iter().any(|part| name.contains(part)) && device[row] > 0 {
            facts.eligible_ns += device[row];
            facts.eligible_name.get_or_insert_with(|| name.clone());
        }
        let launches = device[row] > 0;
        if launches && facts.most_called.as_ref().is_none_or(|(_, most)| calls[row] > *most) {
            facts.most_called = Some((name, calls[row]));
        }
    }
    Ok(())
}

fn add_kernels(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), AnalysisError> {
    let kernels = if asking.has_sums() {
        format!("SELECT name, total_ns AS dur_ns FROM kernel_rollup WHERE {{steps}} AND {complete}")
    } else {
        format!("SELECT name, dur_ns FROM device_events WHERE {{events}} AND {complete} AND kind = 'kernel'")
    };
    let rows = asking.query(&format!("SELECT name, sum(dur_ns) AS dur_ns FROM ({kernels}) GROUP BY name"))?;
    let names = TensorCoreNames::new()?;
    for (name, dur_ns) in rows.text("name")?.into_iter().zip(rows.required_i64("dur_ns")?) {
        facts.kernel_ns += dur_ns;
        if names.are_used(&name.unwrap_or_default()) {
            facts.tensor_core_ns += dur_ns;
        }
    }
    let devices = asking.sources.iter().flat_map(|source| source.devices.iter().flatten());
    let with_cores = devices.into_iter().find(|device| device.compute_major.is_some_and(|major| major >= 7));
    facts.tensor_core_device = with_cores.map(|device| device.name.clone().unwrap_or_else(|| "the device".to_owned()));
    Ok(())
}

fn add_launches(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), AnalysisError> {
    let rows = asking.query(&format!(
        "SELECT count(*) AS launches, coalesce(sum(dur_ns), 0) AS call_ns, nearest_rank(dur_ns, 50) AS median_ns,
           count(*) FILTER (WHERE device_dur_ns < dur_ns) AS shorter
         FROM launches WHERE {{events}} AND {complete}",
    ))?;
    facts.launches = first(&rows, "launches")?;
    facts.launch_call_ns = first(&rows, "call_ns")?;
    facts.median_call_ns = first(&rows, "median_ns")?;
    facts.shorter_than_call = first(&rows, "shorter")?;
    let rows = asking.query(&format!(
        "SELECT count(*) AS calls, coalesce(sum(dur_ns), 0) AS dur_ns FROM runtime_calls
         WHERE {{events}} AND {complete} AND name LIKE '%Synchronize%'",
    ))?;
    facts.synchronizations = first(&rows, "calls")?;
    facts.synchronization_ns = first(&rows, "dur_ns")?;
    Ok(())
}

fn add_copies(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), AnalysisError> {
    let rows = asking.query(&format!(
        "SELECT count(*) AS copies, coalesce(sum(size_bytes), 0) AS size_bytes, coalesce(sum(dur_ns), 0) AS dur_ns
         FROM device_events WHERE {{events}} AND {complete} AND kind = 'memcpy' AND name LIKE '%Pageable%'",
    ))?;
    facts.pageable.count = first(&rows, "copies")?;
    facts.pageable.size_bytes = first(&rows, "size_bytes")?;
    facts.pageable.time_ns = first(&rows, "dur_ns")?;
    if facts.pageable.count > 0 {
        let rows = asking.query(&format!(
            "SELECT CAST(coalesce(sum(hidden_ns), 0) AS BIGINT) AS hidden_ns FROM (
               SELECT overlap_length(start_ns, end_ns, kind = 'kernel') AS hidden_ns FROM device_events
               WHERE {{events}} AND {complete} AND (kind = 'kernel' OR kind = 'memcpy' AND name LIKE '%Pageable%')
               GROUP BY rank, \"window\", device_id)",
        ))?;
        facts.pageable.hidden_ns = first(&rows, "hidden_ns")?;
    }
    Ok(())
}

fn add_memory(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), AnalysisError> {
    let rows = asking.query(
        "SELECT device_id, max(coalesce(total_reserved_bytes, total_allocated_bytes)) AS peak_bytes
         FROM memory_events WHERE {source} AND device_type IN (1, 6) GROUP BY device_id",
    )?;
    for (device, peak) in rows.i64("device_id")?.into_iter().zip(rows.i64("peak_bytes")?) {
        let devices = asking.sources.iter().flat_map(|source| source.devices.iter().flatten());
        let capacity = devices.into_iter().find(|known| known.id == device).and_then(|known| known.memory_bytes);
        let fuller = |(peak, capacity): (i64, i64), (other, of): (i64, i64)| {
            peak as f64 / capacity.max(1) as f64 > other as f64 / of.max(1) as f64
        };
        if let Some(use_of_it) = peak.zip(capacity)
            && facts.memory.is_none_or(|known| fuller(use_of_it, known))
        {
            facts.memory = Some(use_of_it);
        }
    }
    Ok(())
}

fn add_ranks(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), AnalysisError> {
    let ranks = asking.ranks();
    facts.ranks = ranks.len();
    if ranks.len() > 1 && asking.has_rows(COLLECTIVES.name) {
        let waiting = comms::waiting_of(asking)?;
        facts.wait_ns = waiting.total_ns();
        facts.stragglers = waiting.stragglers().iter().map(|rank| (rank.rank, rank.caused_ns)).collect();
    }
    Ok(())
}

fn first(rows: &Frame, column: &str) -> Result<i64, AnalysisError> {
    Ok(rows.i64(column)?.first().copied().flatten().unwrap_or(0))
}

/// The steps, for a report that shows them too.
pub(super) fn steps_and_facts(asking: &Asking<'_>) -> Result<(Vec<StepTime>, Facts), AnalysisError> {
    let steps = step_times::read(asking)?;
    let facts = gather(asking, &steps)?;
    Ok((steps, facts))
}
