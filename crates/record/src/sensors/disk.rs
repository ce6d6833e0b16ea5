//! What all disks of the machine read and wrote, and how busy the busiest is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::kernel_file::KernelFile;
use super::rates::{Counters, DeviceCounters, Growth};
use super::{NotMeasured, Reading, Sensor, Sources, add, rates};

/// The unit of /proc/diskstats, whatever the disk's own is.
const SECTOR_BYTES: f64 = 512.0;
/// Places in a line of /proc/diskstats: sectors read, sectors written, milliseconds with a request under way.
const COLUMNS: [usize; 3] = [5, 9, 12];
const READ: usize = 0;
const WRITTEN: usize = 1;
const BUSY: usize = 2;

pub(super) struct Disk {
    diskstats: KernelFile,
    block: PathBuf,
    /// Whether a device is a disk of its own, by name.
    known: HashMap<String, bool>,
    counters: DeviceCounters<3>,
}

impl Disk {
    pub(super) fn open(sources: &Sources) -> Self {
        let diskstats = KernelFile::open(sources.proc.join("diskstats"));
        let block = sources.sys.join("block");
        Self { diskstats, block, known: HashMap::new(), counters: DeviceCounters::default() }
    }

    fn measure(&mut self, now: Instant) -> Result<[f64; 3], NotMeasured> {
        let counters = self.read_counters()?;
        if counters.is_empty() {
            return Err(NotMeasured::new(format!("this machine has no disk in {}", self.block.display())));
        }
        let growth = self.counters.grow(now, counters)?;
        let read = growth.per_second(READ)? * SECTOR_BYTES;
        let written = growth.per_second(WRITTEN)? * SECTOR_BYTES;
        Ok([busiest_percent(&growth)?, read, written])
    }

    fn read_counters(&mut self) -> Result<Counters<3>, NotMeasured> {
        let mut counters = Vec::new();
        let mut is_understood = true;
        for line in self.diskstats.text()?.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let Some(name) = words.get(2).copied() else {
                is_understood = false;
                continue;
            };
            let is_disk = match self.known.get(name) {
                Some(is_disk) => *is_disk,
                None => *self.known.entry(name.to_owned()).or_insert_with(|| is_disk(&self.block, name)),
            };
            if !is_disk {
                continue;
            }
            match COLUMNS.map(|column| words.get(column)?.parse().ok()) {
                [Some(read), Some(written), Some(busy)] => counters.push((name.to_owned(), [read, written, busy])),
                _ => is_understood = false,
            }
        }
        if is_understood { Ok(counters) } else { Err(self.diskstats.lacks("a line of numbers for each disk")) }
    }
}

impl Sensor for Disk {
    fn read(&mut self, now: Instant, readings: &mut Vec<Reading>) {
        let series = ["disk_io_percent", "disk_read_bytes_per_s", "disk_written_bytes_per_s"];
        add(readings, series, self.measure(now));
    }
}

/// Partitions are not in /sys/block; loop, RAM and mapped devices have no `device`, as they are on top of others; a
/// path of an `NVMe` disk with several is hidden.
fn is_disk(block: &Path, name: &str) -> bool {
    let folder = block.join(name.replace('/', "!"));
    let is_hidden = std::fs::read_to_string(folder.join("hidden")).is_ok_and(|text| text.trim() == "1");
    folder.join("device").exists() && !is_hidden
}

/// The busy share of the busiest disk. Its counter has 32 bits and so starts anew every 49 days.
fn busiest_percent(growth: &Growth<3>) -> Result<f64, NotMeasured> {
    let elapsed_ms = growth.elapsed.as_secs_f64() * 1000.0;
    let mut busiest: f64 = 0.0;
    for (before, now) in &growth.devices {
        let busy_ms = f64::from((now[BUSY] as u32).wrapping_sub(before[BUSY] as u32));
        // Far more than the time that passed is no wrap: the counter was reset.
        if busy_ms > 2.0 * elapsed_ms + 1000.0 {
            return Err(rates::went_backwards());
        }
        busiest = busiest.max(100.0 * busy_ms / elapsed_ms);
    }
    Ok(busiest.min(100.0))
}
