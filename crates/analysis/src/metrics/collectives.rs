//! Communication kernels of one rank: what each one transfers, how much, and how fast it looks (metrics, section 14).
//!
//! A kernel also waits for the other ranks, so bandwidths are apparent: what the duration of the kernel makes of them.

mod kind;
mod recorded;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};
use stepscope_model::null_reason::{
    COLLECTIVE_METADATA_NOT_RECORDED, NO_COMMUNICATION, UNKNOWN_DTYPE, argument_not_recorded,
};

use self::recorded::{Enclosing, Metadata, Surroundings};
use super::Measuring;
use crate::error::AnalysisError;

/// How many collectives are listed one by one.
const LISTED: usize = 10;

/// Communication kernels in the order of their launches; those launched before the recording by their own start.
const KERNELS: &str = "
    SELECT name, owner_id, start_ns, dur_ns,
      collective_name, collective_dtype, in_msg_nelems, out_msg_nelems, group_size, process_group_name
    FROM spans AS kernel
    LEFT JOIN (SELECT span_id, start_ns AS launch_ns FROM spans WHERE {source} AND kind = 'rt') AS launch
      ON launch.span_id = kernel.launch_id
    WHERE {source} AND kind = 'kernel' AND phase = 'X' AND comm_rule IS NOT NULL
    ORDER BY coalesce(launch_ns, start_ns), position";

/// A communication kernel.
struct Kernel {
    name: String,
    owner_id: Option<i64>,
    start_ns: i64,
    dur_ns: i64,
    metadata: Option<Metadata>,
}

/// Bytes, or why they are not known.
type Volume = Result<i64, String>;

/// What collectives are grouped by.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    collective: &'static str,
    process_group: Option<String>,
    dtype: Option<String>,
    size: Option<i64>,
}

/// One collective of this rank.
struct Collective {
    key: Key,
    source: &'static str,
    volume: Volume,
    volume_from: Option<&'static str>,
}

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, AnalysisError> {
    let kernels = kernels(measuring)?;
    if kernels.is_empty() {
        measuring.missing("collectives", NO_COMMUNICATION);
    }
    let says_nothing = |kernel: &Kernel| {
        let name = kernel.metadata.as_ref().map(|metadata| &metadata.collective_name);
        name.and_then(|name| kind::collective(name)).is_none()
    };
    let surroundings = if kernels.iter().any(says_nothing) {
        Surroundings::read(measuring, &kernels.iter().filter_map(|kernel| kernel.owner_id).collect())?
    } else {
        Surroundings::default()
    };
    let mut first = Vec::new();
    let mut ordinals: HashMap<Option<String>, i64> = HashMap::new();
    let mut groups: Vec<(Key, Vec<(i64, Collective)>)> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for kernel in &kernels {
        let collective = describe(kernel, &surroundings.of(kernel.owner_id));
        let ordinal = ordinals.entry(collective.key.process_group.clone()).or_insert(0);
        if first.len() < LISTED {
            let path = format!("collectives.first[{}]", first.len());
            first.push(listed(measuring, &path, kernel, &collective, *ordinal));
        }
        *ordinal += 1;
        let place = *places.entry(collective.key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((collective.key.clone(), Vec::new()));
        }
        groups[place].1.push((kernel.dur_ns, collective));
    }
    Ok(json!({ "count": kernels.len(), "table": table(measuring, groups), "first": first }))
}

fn kernels(measuring: &Measuring<'_>) -> Result<Vec<Kernel>, AnalysisError> {
    let rows = measuring.query(KERNELS)?;
    let (names, owners) = (rows.text("name")?, rows.i64("owner_id")?);
    let (starts, durs) = (rows.required_i64("start_ns")?, rows.required_i64("dur_ns")?);
    let metadata = recorded::metadata(&rows)?.into_iter().zip(names).enumerate();
    let kernel = |(row, (metadata, name)): (usize, (Option<Metadata>, Option<String>))| Kernel {
        name: name.unwrap_or_default(),
        owner_id: owners[row],
        start_ns: starts[row],
        dur_ns: durs[row],
        metadata,
    };
    Ok(metadata.map(kernel).collect())
}

/// Puts together what the kernel, the spans around its launch, and the names say.
fn describe(kernel: &Kernel, around: &[&Enclosing]) -> Collective {
    let above = || around.iter().find_map(|span| span.metadata.as_ref()).map(|metadata| (metadata, "span"));
    let known = kernel.metadata.as_ref().map(|metadata| (metadata, "kernel")).or_else(above);
    let metadata = known.map(|(metadata, _)| metadata);
    let calls = || around.iter().copied().filter(|span| kind::is_backend_call(&span.name));
    let by_metadata = metadata.and_then(|metadata| kind::collective(&metadata.collective_name));
    let by_call = || calls().find_map(|span| kind::collective(&span.name));
    let collective = by_metadata.or_else(by_call).or_else(|| kind::collective(&kernel.name));
    let call_source = || calls().next().map(|_| "span_name");
    let source = known.map(|(_, source)| source).or_else(call_source).unwrap_or("kernel_name");
    let (volume, volume_from) = match metadata {
        Some(metadata) => (recorded_volume(metadata, collective), "metadata"),
        None => (volume_of_call(calls().next(), collective), "input shapes"),
    };
    Collective {
        key: Key {
            collective: collective.unwrap_or("unknown"),
            process_group: metadata.and_then(|metadata| metadata.process_group.clone()),
            dtype: metadata.and_then(|metadata| metadata.dtype.clone()),
            size: metadata.and_then(|metadata| metadata.group_size),
        },
        source,
        volume_from: volume.is_ok().then_some(volume_from),
        volume,
    }
}

/// The size of a message is that of the larger side: the output of a gather to all, else the input.
fn recorded_volume(metadata: &Metadata, collective: Option<&str>) -> Volume {
    let (elements, argument) = match collective {
        Some("all_gather") => (metadata.out_elements, "Out msg nelems"),
        _ => (metadata.in_elements, "In msg nelems"),
    };
    let size = metadata.dtype.as_deref().and_then(kind::element_bytes).ok_or_else(|| UNKNOWN_DTYPE.to_owned())?;
    elements.and_then(|elements| elements.checked_mul(size)).ok_or_else(|| argument_not_recorded(argument))
}

/// Older recordings have the shapes of the library's call. They are those of the inputs, which is not enough for gathers.
fn volume_of_call(call: Option<&Enclosing>, collective: Option<&str>) -> Volume {
    let call = call.filter(|_| !matches!(collective, None | Some("all_gather" | "gather")));
    let inputs = call.and_then(|call| call.input_dims.as_deref().zip(call.input_types.as_deref()));
    inputs
        .and_then(|(dims, types)| kind::bytes_of_inputs(dims, types))
        .ok_or_else(|| COLLECTIVE_METADATA_NOT_RECORDED.to_owned())
}

fn listed(measuring: &mut Measuring<'_>, path: &str, kernel: &Kernel, collective: &Collective, ordinal: i64) -> Json {
    let key = &collective.key;
    let mut row = json!({
        "collective": key.collective,
        "source": collective.source,
        "pg": key.process_group,
        "group_size": key.size,
        "dtype": key.dtype,
        "bytes_from": collective.volume_from,
        "ordinal": ordinal,
        "start_ns": kernel.start_ns,
        "duration_ns": kernel.dur_ns,
        "kernel": kernel.name,
    });
    add_bandwidth(measuring, path, &mut row, key, &collective.volume, kernel.dur_ns);
    row
}

fn table(measuring: &mut Measuring<'_>, groups: Vec<(Key, Vec<(i64, Collective)>)>) -> Vec<Json> {
    let total = |members: &[(i64, Collective)]| members.iter().map(|(dur, _)| dur).sum::<i64>();
    let mut groups: Vec<_> = groups.into_iter().map(|(key, members)| (total(&members), key, members)).collect();
    // Equal groups stay in the order of their first collective. A group without a name sorts as `None`.
    let name = |key: &Key| key.process_group.clone().unwrap_or_else(|| "None".to_owned());
    groups.sort_by_cached_key(|(total, key, _)| (-total, key.collective, name(key)));
    let mut rows = Vec::new();
    for (total, key, members) in groups {
        let mut durations: Vec<i64> = members.iter().map(|(dur, _)| *dur).collect();
        durations.sort_unstable();
        let mut sources: BTreeMap<&str, i64> = BTreeMap::new();
        for (_, collective) in &members {
            *sources.entry(collective.source).or_default() += 1;
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
fn sum_volumes(members: &[(i64, Collective)]) -> (Volume, i64, usize) {
    let known = || members.iter().filter_map(|(dur, collective)| Some((*dur, *collective.volume.as_ref().ok()?)));
    let missing = members.len() - known().count();
    let reason = members.iter().find_map(|(_, collective)| collective.volume.as_ref().err());
    let volume = match reason {
        Some(reason) if missing == members.len() => Err(reason.clone()),
        _ => Ok(known().map(|(_, bytes)| bytes).sum()),
    };
    (volume, known().map(|(dur, _)| dur).sum(), missing)
}

/// Adds bytes and apparent bandwidths to a row. Bytes a nanosecond are 10⁹ bytes a second.
fn add_bandwidth(measuring: &mut Measuring<'_>, path: &str, row: &mut Json, key: &Key, volume: &Volume, dur_ns: i64) {
    let algorithm = volume.as_ref().ok().filter(|_| dur_ns != 0).map(|&bytes| bytes as f64 / dur_ns as f64);
    let factor = kind::bus_factor(key.collective, key.size);
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
