//! What the machine's network interfaces received and sent. Traffic of RDMA (InfiniBand, `RoCE`) passes them by.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::kernel_file::KernelFile;
use super::rates::{Counters, DeviceCounters};
use super::{NotMeasured, Reading, Sensor, Sources, add};

/// Places in a line of /proc/net/dev, behind the name: bytes received, bytes sent.
const COLUMNS: [usize; 2] = [0, 8];

pub(super) struct Network {
    dev: KernelFile,
    interfaces: PathBuf,
    /// Whether an interface is hardware, by name.
    is_hardware: HashMap<String, bool>,
    counters: DeviceCounters<2>,
}

impl Network {
    pub(super) fn open(sources: &Sources) -> Self {
        // Behind `self`, as /proc/net is a link to there.
        let dev = KernelFile::open(sources.proc.join("self/net/dev"));
        let interfaces = sources.sys.join("class/net");
        Self { dev, interfaces, is_hardware: HashMap::new(), counters: DeviceCounters::default() }
    }

    fn measure(&mut self, now: Instant) -> Result<[f64; 2], NotMeasured> {
        let mut counters = self.read_counters()?;
        // Bridges and tunnels count again what the hardware counts; in a container there may be nothing else.
        let is_hardware = |name: &str| *self.is_hardware.get(name).unwrap_or(&false);
        if counters.iter().any(|(name, _)| is_hardware(name)) {
            counters.retain(|(name, _)| is_hardware(name));
        }
        if counters.is_empty() {
            return Err(NotMeasured::new("this machine has no network interface"));
        }
        let growth = self.counters.grow(now, counters)?;
        Ok([growth.per_second(0)?, growth.per_second(1)?])
    }

    /// The counters of all interfaces but the machine's way to itself.
    fn read_counters(&mut self) -> Result<Counters<2>, NotMeasured> {
        let mut counters = Vec::new();
        let mut is_understood = true;
        // Two lines of headings come first.
        for line in self.dev.text()?.lines().skip(2) {
            let (name, numbers) = line.split_once(':').unwrap_or((line, ""));
            let name = name.trim();
            if name == "lo" {
                continue;
            }
            if !self.is_hardware.contains_key(name) {
                self.is_hardware.insert(name.to_owned(), is_hardware(&self.interfaces, name));
            }
            let number = |column| numbers.split_ascii_whitespace().nth(column)?.parse().ok();
            match COLUMNS.map(number) {
                [Some(received), Some(sent)] => counters.push((name.to_owned(), [received, sent])),
                _ => is_understood = false,
            }
        }
        if is_understood { Ok(counters) } else { Err(self.dev.lacks("a line of numbers for each interface")) }
    }
}

impl Sensor for Network {
    fn read(&mut self, now: Instant, readings: &mut Vec<Reading>) {
        add(readings, ["network_received_bytes_per_s", "network_sent_bytes_per_s"], self.measure(now));
    }
}

/// Hardware below other hardware is counted there: clouds put a fast path below the interface of a virtual machine.
fn is_hardware(interfaces: &Path, name: &str) -> bool {
    let folder = interfaces.join(name);
    folder.join("device").exists() && !folder.join("master/device").exists()
}
