//! Memory that this process has in RAM, now and at its peak.

use std::time::Instant;

use super::kernel_file::{KernelFile, number_behind};
use super::{NotMeasured, Reading, Sensor, Sources, add};

/// The peak is `VmHWM` and not `ru_maxrss`, which begins with the size of the process that started this one.
pub(super) struct ProcessMemory {
    status: KernelFile,
    /// The kernel notes peaks by counters that lag behind, so that it may tell a little less than what was read here.
    largest_read_kib: u64,
}

impl ProcessMemory {
    pub(super) fn open(sources: &Sources) -> Self {
        Self { status: KernelFile::open(sources.proc.join("self/status")), largest_read_kib: 0 }
    }

    /// Memory now and at its peak, each if the kernel tells it.
    fn measure(&mut self) -> Result<[Option<u64>; 2], NotMeasured> {
        let text = self.status.text()?;
        let [now_kib, peak_kib] = ["VmRSS:", "VmHWM:"].map(|word| number_behind(word, text));
        self.largest_read_kib = self.largest_read_kib.max(now_kib.unwrap_or(0));
        Ok([now_kib, peak_kib.map(|peak_kib| peak_kib.max(self.largest_read_kib))])
    }

    fn bytes(&self, kib: Option<u64>, word: &str) -> Result<[f64; 1], NotMeasured> {
        Ok([kib.ok_or_else(|| self.status.lacks(word))? as f64 * 1024.0])
    }
}

impl Sensor for ProcessMemory {
    fn read(&mut self, _now: Instant, readings: &mut Vec<Reading>) {
        let measured = self.measure();
        let now = measured.clone().and_then(|[now_kib, _]| self.bytes(now_kib, "VmRSS"));
        let peak = measured.and_then(|[_, peak_kib]| self.bytes(peak_kib, "VmHWM"));
        add(readings, ["process_rss_bytes"], now);
        add(readings, ["process_peak_rss_bytes"], peak);
    }
}
