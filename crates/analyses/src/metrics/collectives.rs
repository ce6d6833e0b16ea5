//! Communication kernels of one rank: what each one transfers, how much, and how fast it looks (metrics, section 14).
//!
//! A kernel also waits for the other ranks, so bandwidths are apparent: what the duration of the kernel makes of them.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};
use stepscope_ingest::bus_factor;
use stepscope_model::null_reason::{COLLECTIVE_METADATA_NOT_RECORDED, NO_COMMUNICATION, NO_ROLLUPS};
use stepscope_runs::RunError;

use super::Measuring;

/// How many collectives are listed one by one.
const LISTED: usize = 10;

/// Collectives in the order of their launches; those launched before the recording by their own start.
const COLLECTIVES: &str = "SELECT * FROM collectives WHERE {source} ORDER BY coalesce(launch_ns, start_ns), position";

/// Bytes, or why they are not known.
type Volume = Result<i64, String>;

/// What collectives are grouped by.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    collective: String,
    process_group: Option<String>,
    dtype: Option<String>,
    size: Option<i64>,
}

/// One collective of this rank.
struct Collective {
    key: Key,
    kernel: String,
    start_ns: i64,
    dur_ns: i64,
    source: String,
    volume: Volume,
    volume_from: Option<String>,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let collectives = read(measuring)?;
    if collectives.is_empty() {
        let reason = if measuring.source.are_sums_left_out() { NO_ROLLUPS } else { NO_COMMUNICATION };
        measuring.missing("collectives", reason);
    }
    let count = collectives.len();
    let mut first = Vec::new();
    let mut ordinals: HashMap<Option<String>, i64> = HashMap::new();
    let mut groups: Vec<(Key, Vec<Collective>)> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for collective in collectives {
        let ordinal = ordinals.entry(collective.key.process_group.clone()).or_insert(0);
        if first.len() < LISTED {
            let path = format!("collectives.first[{}]", first.len());
            first.push(listed(measuring, &path, &collective, *ordinal));
        }
        *ordinal += 1;
        let place = *places.entry(collective.key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((collective.key.clone(), Vec::new()));
        }
        groups[place].1.push(collective);
    }
    Ok(json!({ "count": count, "table": table(measuring, groups), "first": first }))
}

fn read(measuring: &Measuring<'_>) -> Result<Vec<Collective>, RunError> {
    let rows = measuring.query(COLLECTIVES)?;
    let (names, groups, dtypes) = (rows.text("collective")?, rows.text("process_group")?, rows.text("dtype")?);
    let (sizes, kernels, sources) = (rows.i64("group_size")?, rows.text("kernel")?, rows.text("named_by")?);
    let (starts, durations) = (rows.required_i64("start_ns")?, rows.required_i64("dur_ns")?);
    let (volumes, reasons) = (rows.i64("message_bytes")?, rows.text("bytes_missing")?);
    let from = rows.text("bytes_from")?;
    let collective = |row: usize| Collective {
        key: Key {
            collective: names[row].clone().unwrap_or_default(),
            process_group: groups[row].clone(),
            dtype: dtypes[row].clone(),
            size: sizes[row],
        },
        kernel: kernels[row].clone().unwrap_or_default(),
        start_ns: starts[row],
        dur_ns: durations[row],
        source: sources[row].clone().unwrap_or_default(),
        volume: volumes[row].ok_or_else(|| reasons[row].clone().unwrap_or_default()),
        volume_from: from[row].clone(),
    };
    Ok((0..rows.rows()).map(collective).collect())
}

fn listed(measuring: &mut Measuring<'_>, path: &str, collective: &Collective, ordinal: i64) -> Json {
    let key = &collective.key;
    let mut row = json!({
        "collective": key.collective,
        "source": collective.source,
        "pg": key.process_group,
        "group_size": key.size,
        "dtype": key.dtype,
        "bytes_from": collective.volume_from,
        "ordinal": ordinal,
        "start_ns": collective.start_ns,
        "duration_ns": collective.dur_ns,
        "kernel": collective.kernel,
    });
    add_bandwidth(measuring, path, &mut row, key, &collective.volume, collective.dur_ns);
    row
}

fn table(measuring: &mut Measuring<'_>, groups: Vec<(Key, Vec<Collective>)>) -> Vec<Json> {
    let total = |members: &[Collective]| members.iter().map(|collective| collective.dur_ns).sum::<i64>();
    let mut groups: Vec<_> = groups.into_iter().map(|(key, members)| (total(&members), key, members)).collect();
    // Equal groups stay in the order of their first collective. A group without a name sorts as `None`.
    let name = |key: &Key| key.process_group.clone().unwrap_or_else(|| "None".to_owned());
    groups.sort_by_cached_key(|(total, key, _)| (-total, key.collective.clone(), name(key)));
    let mut rows = Vec::new();
    for (total, key, members) in groups {
        let mut durations: Vec<i64> = members.iter().map(|collective| collective.dur_ns).collect();
        durations.sort_unstable();
        let mut sources: BTreeMap<&str, i64> = BTreeMap::new();
        for collective in &members {
            *sources.entry(&collective.source).or_default() += 1;
        }
        let (volume, volume_ns, missing) = sum_volumes(&members);
        let mut row = json!({
            "collective": key.collective,
            "pg": key.process_group,
            "dtype": key.dtype,
            "group_size": key.size,
            "count": durations.len(),
            "total_ns": total,
            "mean_ns": total as f64 / durations.len() as f64,
            "min_ns": durations.first(),
            "p50_ns": percentile(&durations, 50),
            "p90_ns": percentile(&durations, 90),
            "p99_ns": percentile(&durations, 99),
            "max_ns": durations.last(),
            "bytes_missing": missing,
            "sources": sources,
        });
        add_bandwidth(measuring, &format!("collectives.table[{}]", rows.len()), &mut row, &key, &volume, volume_ns);
        rows.push(row);
    }
    rows
}

/// Bytes of the collectives whose bytes are known, the time of those, and how many are not known.
fn sum_volumes(members: &[Collective]) -> (Volume, i64, usize) {
    let known = || members.iter().filter_map(|collective| Some((collective.dur_ns, *collective.volume.as_ref().ok()?)));
    let missing = members.len() - known().count();
    let reason = members.iter().find_map(|collective| collective.volume.as_ref().err());
    let volume = match reason {
        Some(reason) if missing == members.len() => Err(reason.clone()),
        _ => Ok(known().map(|(_, bytes)| bytes).sum()),
    };
    (volume, known().map(|(dur, _)| dur).sum(), missing)
}

/// Adds bytes and apparent bandwidths to a row. Bytes per nanosecond are 10⁹ bytes per second.
fn add_bandwidth(measuring: &mut Measuring<'_>, path: &str, row: &mut Json, key: &Key, volume: &Volume, dur_ns: i64) {
    let algorithm = volume.as_ref().ok().filter(|_| dur_ns != 0).map(|&bytes| bytes as f64 / dur_ns as f64);
    let factor = bus_factor(&key.collective, key.size);
    let bus = algorithm.zip(factor).map(|(bandwidth, factor)| bandwidth * factor);
    row["bytes"] = Json::from(volume.as_ref().ok().copied());
    row["algbw_gb_per_s"] = Json::from(algorithm);
    row["busbw_gb_per_s"] = Json::from(bus);
    // One reason for whatever is null in the row.
    if let Err(reason) = volume {
        measuring.missing(path, reason);
    } else if key.size.is_none() || factor.is_none() {
        measuring.missing(path, COLLECTIVE_METADATA_NOT_RECORDED);
    }
}

/// The smallest value with at least `percent` % of the values at or below it.
fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    sorted.get((percent * sorted.len()).div_ceil(100).saturating_sub(1)).copied()
}
