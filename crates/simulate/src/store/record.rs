//! What the store says about a simulated source.

use std::collections::BTreeMap;

use serde_json::json;
use stepscope_model::{Content, Device, RankFrom, RowCounts, SourceId, SourceRecord, StepSource, version};

use crate::device;
use crate::job::Job;
use crate::run::BASE_TIME_NS;

/// The record of a rank whose steps begin and end at `ends`.
pub(super) fn record(job: &Job, rank: u32, ends: Option<(i64, i64)>) -> SourceRecord {
    let device = |id: u32| Device {
        id: Some(id.into()),
        name: Some(device::NAME.to_owned()),
        compute_major: Some(device::COMPUTE_MAJOR),
        multiprocessors: Some(device::MULTIPROCESSORS),
        memory_bytes: Some(device::MEMORY_BYTES),
        ..Device::default()
    };
    SourceRecord {
        schema_version: version::SCHEMA_VERSION,
        derivation_version: version::DERIVATION_VERSION,
        stepscope: env!("CARGO_PKG_VERSION").to_owned(),
        // The writer sets what it knows better.
        run: String::new(),
        id: SourceId { rank, window: 0 },
        rows: RowCounts::default(),
        partitions: BTreeMap::new(),
        bytes_out: 0,
        rank_from: RankFrom::Header,
        path: format!("simulated rank {rank}"),
        // There are no bytes to hash; each job and rank is told from others by what it is made of.
        digest: format!("{:016x}{rank:016x}", job.seed),
        format: "simulated".to_owned(),
        content: Content::Events,
        bytes_in: 0,
        bytes_plain: 0,
        events_in: 0,
        dropped: BTreeMap::new(),
        warnings: BTreeMap::new(),
        notes: Vec::new(),
        events_by_phase_and_category: BTreeMap::new(),
        trace_schema_version: json!(1),
        base_time_ns: BASE_TIME_NS,
        header_rank: json!(rank),
        header_world_size: json!(job.ranks),
        header: std::collections::BTreeMap::new(),
        devices: Some((0..device::count(job)).map(device).collect()),
        clock_resolution_ns: 1,
        first_event_ns: ends.map(|(first_ns, _)| BASE_TIME_NS + first_ns),
        last_event_ns: ends.map(|(_, last_ns)| BASE_TIME_NS + last_ns),
        step_source: StepSource::ProfilerStep,
        process_id: None,
        run_id: None,
        apart_because: None,
    }
}
