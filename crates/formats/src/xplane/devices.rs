//! What the planes of devices say about the devices, as the header of other formats has it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::metadata::{Metadata, StatValue};

/// The devices of a file, by number.
#[derive(Debug, Default)]
pub(super) struct Devices(BTreeMap<i64, String>);

/// How a stat of a plane is called in the header.
const NUMBERS: [(&str, &str); 7] = [
    ("compute_cap_major", "computeMajor"),
    ("core_count", "numSms"),
    ("memory_size", "totalGlobalMem"),
    ("clock_rate", "clockRateKHz"),
    ("memory_bandwidth", "memoryBandwidthBytesPerSecond"),
    ("peak_teraflops_per_second", "peakTeraflopsPerSecond"),
    ("peak_hbm_bw_gigabytes_per_second", "peakMemoryGigabytesPerSecond"),
];

impl Devices {
    /// Takes what a plane says about its device.
    pub(super) fn add(&mut self, number: i64, metadata: &Metadata) {
        let mut json = format!("{{\"id\":{number}");
        for key in ["device_type_string", "device_vendor"] {
            let name = metadata.of_plane(key).and_then(|value| metadata.text(value));
            let is_plain = |name: &&str| name.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
            if let Some(name) = name.filter(is_plain) {
                let key = if key == "device_vendor" { "vendor" } else { "name" };
                let _ = write!(json, ",\"{key}\":\"{name}\"");
            }
        }
        for (stat, key) in NUMBERS {
            let value = metadata.of_plane(stat).and_then(StatValue::as_f64);
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let _ = write!(json, ",\"{key}\":{value}");
            }
        }
        json.push('}');
        self.0.insert(number, json);
    }

    /// All of them as a JSON list; `None` without any.
    pub(super) fn as_json(&self) -> Option<String> {
        let devices: Vec<&str> = self.0.values().map(String::as_str).collect();
        (!devices.is_empty()).then(|| format!("[{}]", devices.join(",")))
    }
}
