//! Memory in use, of what this process could get: the machine's, or what the limit of its control group leaves.

use std::time::Instant;

use super::cgroup::{self, MemoryLimit};
use super::kernel_file::{KernelFile, number_behind};
use super::{NotMeasured, Reading, Sensor, Sources, add};

pub(super) struct Memory {
    meminfo: KernelFile,
    limit: Option<MemoryLimit>,
}

impl Memory {
    pub(super) fn open(sources: &Sources) -> Self {
        Self { meminfo: KernelFile::open(sources.proc.join("meminfo")), limit: cgroup::tightest_limit(sources) }
    }

    fn measure(&mut self) -> Result<[f64; 3], NotMeasured> {
        let text = self.meminfo.text()?;
        let [total, available] = ["MemTotal:", "MemAvailable:"].map(|word| number_behind(word, text));
        let ram_bytes = total.ok_or_else(|| self.meminfo.lacks("MemTotal"))?.saturating_mul(1024);
        let (used_bytes, total_bytes) = match &mut self.limit {
            Some(limit) if limit.limit_bytes < ram_bytes => (limit.used_bytes()?, limit.limit_bytes),
            _ => {
                let available = available.ok_or_else(|| self.meminfo.lacks("MemAvailable"))?;
                (ram_bytes.saturating_sub(available.saturating_mul(1024)), ram_bytes)
            }
        };
        if total_bytes == 0 {
            return Err(self.meminfo.lacks("an amount of memory"));
        }
        let [used_bytes, total_bytes] = [used_bytes, total_bytes].map(|bytes| bytes as f64);
        Ok([100.0 * used_bytes / total_bytes, used_bytes, total_bytes])
    }
}

impl Sensor for Memory {
    fn read(&mut self, _now: Instant, readings: &mut Vec<Reading>) {
        add(readings, ["memory_percent", "memory_used_bytes", "memory_total_bytes"], self.measure());
    }
}
