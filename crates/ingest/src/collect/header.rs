//! What the header of a trace says about the recording as a whole.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stepscope_formats::Value;
use stepscope_model::Device;

/// Facts from the header. A key that comes twice counts as it stands the last time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub schema_version: Json,
    pub base_time_ns: i64,
    pub rank: Json,
    pub world_size: Json,
    pub devices: Option<Vec<Device>>,
    /// Process groups that the rank belongs to.
    pub process_groups: Vec<ProcessGroup>,
    /// Samples of steps, by the number in the name of their mark.
    pub samples: BTreeMap<u64, i64>,
    /// The step that had not ended when the recording did, by the number in the name of its mark.
    pub incomplete_step: Option<u64>,
    /// What tells this run from others of the same script.
    pub run_id: Option<String>,
    /// How it was recorded, by key.
    pub circumstances: BTreeMap<String, Json>,
}

/// Keys that say how a trace was recorded: two runs that differ in a flag are not comparable.
const CIRCUMSTANCES: [&str; 17] = [
    "record_shapes",
    "with_stack",
    "with_flops",
    "with_modules",
    "profile_memory",
    "cuda_runtime_version",
    "cuda_driver_version",
    "cupti_version",
    "host_name",
    "jax_version",
    "jaxlib_version",
    "profile_start_ns",
    "profile_stop_ns",
    "planes",
    "allocator_settings",
    "snapshot_state",
    "segment_totals_differ",
];

/// A process group of the rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessGroup {
    pub name: Option<String>,
    /// Backends by device, as `cpu:gloo,cuda:nccl`.
    pub backends: String,
    pub ranks: Option<Vec<i64>>,
}

impl Header {
    /// Takes one entry; `false` when its value is not one that can be used.
    pub(crate) fn take(&mut self, key: &str, value: &Value<'_>) -> bool {
        match key {
            "schemaVersion" => self.schema_version = json(value),
            "baseTimeNanoseconds" => {
                self.base_time_ns = value.as_i64().unwrap_or(0);
                return value.as_i64().is_some();
            }
            "distributedInfo" => {
                let info = json(value);
                self.rank = info.get("rank").cloned().unwrap_or(Json::Null);
                self.world_size = info.get("world_size").cloned().unwrap_or(Json::Null);
                let groups = info.get("pg_config").and_then(Json::as_array);
                self.process_groups = groups.into_iter().flatten().map(process_group).collect();
            }
            "deviceProperties" => {
                self.devices = json(value)
                    .as_array()
                    .map(|list| list.iter().filter(|item| item.is_object()).map(device).collect());
            }
            // Written by `step(samples=n)` of the Python package.
            "stepscope_samples_per_step" => {
                let samples = json(value).as_object().map(|steps| steps.iter().map(samples_of_step).collect());
                let is_usable = matches!(samples, Some(Some(_)));
                self.samples = samples.flatten().unwrap_or_default();
                return is_usable;
            }
            // Written where the program stopped between two calls of `step()`.
            "stepscope_incomplete_step" => {
                self.incomplete_step = json(value).as_u64();
                return self.incomplete_step.is_some();
            }
            // Written by every recording of the Python package that knows which processes belong together.
            "stepscope_run" => {
                self.run_id = json(value).as_str().map(str::to_owned);
                return self.run_id.is_some();
            }
            _ if CIRCUMSTANCES.contains(&key) => {
                self.circumstances.insert(key.to_owned(), json(value));
            }
            _ => {}
        }
        true
    }

    /// The rank, if the header has one that can be a rank.
    pub(crate) fn rank_number(&self) -> Option<u32> {
        // Ranks are a column of 32 signed bits.
        self.rank.as_i64().and_then(|rank| i32::try_from(rank).ok()).and_then(|rank| u32::try_from(rank).ok())
    }
}

fn samples_of_step((step, samples): (&String, &Json)) -> Option<(u64, i64)> {
    Some((step.parse().ok()?, samples.as_i64().filter(|samples| *samples >= 0)?))
}

fn process_group(item: &Json) -> ProcessGroup {
    let text = |key: &str| item.get(key).and_then(Json::as_str).map(str::to_owned);
    let ranks = item.get("ranks").and_then(Json::as_array);
    ProcessGroup {
        name: text("pg_name"),
        backends: text("backend_config").unwrap_or_default(),
        ranks: ranks.and_then(|ranks| ranks.iter().map(Json::as_i64).collect()),
    }
}

fn device(item: &Json) -> Device {
    let integer = |key: &str| item.get(key).and_then(Json::as_i64);
    let number = |key: &str| item.get(key).and_then(Json::as_f64);
    Device {
        id: integer("id"),
        name: item.get("name").and_then(Json::as_str).map(str::to_owned),
        compute_major: integer("computeMajor"),
        multiprocessors: integer("numSms"),
        memory_bytes: integer("totalGlobalMem"),
        peak_flops_per_s: number("peakTeraflopsPerSecond").map(|tera| tera * 1e12),
        peak_bytes_per_s: number("memoryBandwidthBytesPerSecond")
            .or_else(|| number("peakMemoryGigabytesPerSecond").map(|giga| giga * 1e9)),
    }
}

fn json(value: &Value<'_>) -> Json {
    match value {
        Value::Missing | Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Number(text) => serde_json::from_str(text).unwrap_or(Json::Null),
        Value::Json(text) => serde_json::from_str(text).unwrap_or(Json::Null),
    }
}
