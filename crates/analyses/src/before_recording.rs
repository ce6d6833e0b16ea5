//! Recordings that begin while the device works on what was launched before: the first launches are queued, and nothing
//! that was recorded runs until that work is done. Such a stretch is neither idle nor spent by the host (metrics,
//! section 7).

use std::collections::BTreeMap;

use stepscope_engine::{Engine, QueryOptions};
use stepscope_model::{Class, SourceId, SourceRecord};
use stepscope_runs::{Frame, RunError};

use super::Asking;
use super::layers::{StepRanges, time_by_layer};

/// A launch reaches an idle device within microseconds; this long it waits only behind other work.
const QUEUED_NS: i64 = 1_000_000;
/// Launches that wait so at least: one alone may wait for something else.
const QUEUED_LAUNCHES: i64 = 2;
/// Of the stretch, what recorded events may take on other streams.
const RECORDED_SHARE: f64 = 0.01;

/// When the work from before the recording was done, of each recording that began with such work.
pub(crate) type BusyUntil = BTreeMap<SourceId, i64>;

/// The first device event of each stream, with its launch, where that had waited.
const FIRST_OF_STREAMS: &str = "
    SELECT launches.rank, launches.\"window\", device_start_ns AS until_ns, start_ns + dur_ns AS queued_ns
    FROM launches JOIN (
      SELECT rank, \"window\", device_id, stream_id, min(device_start_ns) AS first_ns FROM launches
      GROUP BY rank, \"window\", device_id, stream_id) AS stream
    ON stream.rank = launches.rank AND stream.\"window\" = launches.\"window\" AND stream.first_ns = device_start_ns
      AND (stream.device_id IS NOT DISTINCT FROM launches.device_id)
      AND (stream.stream_id IS NOT DISTINCT FROM launches.stream_id)
    WHERE device_start_ns - start_ns - dur_ns >= ";

/// Finds the recordings that begin so.
pub(crate) fn find(engine: &Engine, sources: &[&SourceRecord]) -> Result<BusyUntil, RunError> {
    let ask = |statement: &str| Ok::<_, RunError>(Frame::new(engine.query(statement, &QueryOptions::default())?));
    let rows = ask(&format!("{FIRST_OF_STREAMS} {QUEUED_NS} ORDER BY until_ns"))?;
    let (ranks, windows) = (rows.required_i64("rank")?, rows.required_i64("window")?);
    let (untils, queued) = (rows.required_i64("until_ns")?, rows.required_i64("queued_ns")?);
    let mut found = BusyUntil::new();
    for row in 0..rows.rows() {
        let (id, until) = (SourceId { rank: ranks[row] as u32, window: windows[row] as u32 }, untils[row]);
        let Some(start) = sources.iter().find(|source| source.id == id).and_then(|source| source.first_event_ns) else {
            continue;
        };
        // A program that starts up inside the recording has launched nothing before it.
        let is_from_the_start = (until - queued[row]) * 2 >= until - start;
        let of_source = format!("rank = {} AND \"window\" = {}", id.rank, id.window);
        if !is_from_the_start {
            continue;
        }
        let rows = ask(&format!(
            "SELECT
               (SELECT union_length(start_ns, least(end_ns, {until})) FROM device_events
                WHERE {of_source} AND start_ns < {until}) AS recorded_ns,
               (SELECT count(*) FROM launches
                WHERE {of_source} AND start_ns < {until} AND device_start_ns >= {until}) AS queued"
        ))?;
        let first = |name: &str| Ok::<_, RunError>(rows.i64(name)?.first().copied().flatten().unwrap_or(0));
        let is_nothing_recorded = first("recorded_ns")? as f64 <= RECORDED_SHARE * (until - start) as f64;
        if is_nothing_recorded && first("queued")? >= QUEUED_LAUNCHES {
            found.insert(id, until);
        }
    }
    Ok(found)
}

/// The part of the complete steps that lies in such stretches, by what the host did meanwhile.
pub(super) fn time_in_steps(
    asking: &Asking<'_>,
    ranges: &StepRanges,
    busy: &BusyUntil,
) -> Result<[i64; Class::ALL.len()], RunError> {
    let mut by_class = [0; Class::ALL.len()];
    let before = ranges.until(busy);
    if before.total_ns() == 0 {
        return Ok(by_class);
    }
    let of_source = |(id, until): (&SourceId, &i64)| {
        format!("(rank = {} AND \"window\" = {} AND start_ns < {until})", id.rank, id.window)
    };
    let sources: Vec<String> = busy.iter().map(of_source).collect();
    by_class = time_by_layer(
        asking,
        &before,
        &format!(
            "SELECT rank, \"window\", start_ns, end_ns, priority - 1 AS layer FROM breakdown_spans WHERE {}",
            sources.join(" OR ")
        ),
    )?;
    // Where nothing is active, no span says so.
    let covered: i64 = by_class.iter().sum();
    by_class[Class::Other as usize] += before.total_ns() - covered;
    // Work that was recorded is not from before.
    let host = [Class::Runtime, Class::Dataloader, Class::CpuExec, Class::Other];
    for class in Class::ALL.into_iter().filter(|class| !host.contains(class)) {
        by_class[class as usize] = 0;
    }
    Ok(by_class)
}
