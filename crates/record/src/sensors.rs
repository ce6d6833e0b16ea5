//! Readings of the process and of the machine: memory, CPU, disks, network, temperature, GPUs and energy.
//!
//! A figure that cannot be read is [`NotMeasured`] with a sentence that says why, never 0. When to read, and what
//! becomes of the readings, is left to others.
//!
//! Figures of GPUs come from NVIDIA's NVML. **They are unverified on hardware**: the tests speak with a stand-in for
//! that library. CPU temperature and energy were tested with made-up files of the kernel only.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

mod cgroup;
mod cpu;
mod disk;
mod energy;
mod gpu;
mod kernel_file;
mod memory;
mod network;
mod process_cpu;
mod process_memory;
mod rates;
mod temperature;

type OpenSensor = fn(&Sources) -> Box<dyn Sensor>;

/// The sensors: the group that each belongs to, and how it is opened.
static SENSORS: [(Group, OpenSensor); 9] = [
    (Group::Memory, |sources| Box::new(process_memory::ProcessMemory::open(sources))),
    (Group::Memory, |sources| Box::new(memory::Memory::open(sources))),
    (Group::Cpu, |sources| Box::new(cpu::Cpu::open(sources))),
    (Group::Cpu, |_| Box::new(process_cpu::ProcessCpu::default())),
    (Group::Disk, |sources| Box::new(disk::Disk::open(sources))),
    (Group::Network, |sources| Box::new(network::Network::open(sources))),
    (Group::Temperature, |sources| Box::new(temperature::Temperature::open(sources))),
    (Group::Gpu, |sources| Box::new(gpu::Gpus::open(sources))),
    (Group::Energy, |sources| Box::new(energy::Energy::open(sources))),
];

/// Sensors that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// `process_rss_bytes`, `process_peak_rss_bytes`, `memory_percent`, `memory_used_bytes`, `memory_total_bytes`.
    Memory,
    /// `cpu_percent`, `disk_io_wait_percent`, `process_cpu_percent`, `process_cpu_seconds`.
    Cpu,
    /// `disk_io_percent`, `disk_read_bytes_per_s`, `disk_written_bytes_per_s`.
    Disk,
    /// `network_received_bytes_per_s`, `network_sent_bytes_per_s`.
    Network,
    /// `cpu_temperature_celsius`.
    Temperature,
    /// For each GPU `gpu0_utilization_percent`, `gpu0_memory_used_bytes`, `gpu0_memory_total_bytes`,
    /// `gpu0_temperature_celsius`, `gpu0_power_watts` and `gpu0_energy_joules`; and `gpu_process_memory_bytes`.
    /// Where there is no GPU, the series of the first one say why.
    Gpu,
    /// `cpu_energy_joules`.
    Energy,
}

impl Group {
    /// Every group, in the order in which [`Sensors::read`] reads them.
    pub const ALL: [Self; 7] =
        [Self::Memory, Self::Cpu, Self::Disk, Self::Network, Self::Temperature, Self::Gpu, Self::Energy];

    /// What a user calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::Network => "network",
            Self::Temperature => "temperature",
            Self::Gpu => "gpu",
            Self::Energy => "energy",
        }
    }

    /// The group that a user calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }
}

/// Where sensors read.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The folder of processes, `/proc`.
    pub proc: PathBuf,
    /// The folder of devices, `/sys`.
    pub sys: PathBuf,
    /// The NVML library, if it is not where the driver puts it.
    pub nvml: Option<PathBuf>,
}

impl Default for Sources {
    /// The places of this machine. The environment variable `STEPSCOPE_NVML` names another NVML library.
    fn default() -> Self {
        let nvml = std::env::var_os("STEPSCOPE_NVML").filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys"), nvml }
    }
}

/// One figure, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Name of the series, which carries the unit.
    pub series: Cow<'static, str>,
    /// The figure.
    pub value: Result<f64, NotMeasured>,
}

/// Why a figure was not measured: a sentence without a final period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotMeasured(String);

impl NotMeasured {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Open sensors. Rates are of the time between two readings of the same `Sensors`.
pub struct Sensors {
    groups: Vec<Group>,
    sources: Sources,
    process_id: u32,
    opened: Vec<(Group, Box<dyn Sensor>)>,
}

impl Sensors {
    /// Opens the sensors of some groups. What is not there says so when it is read.
    #[must_use]
    pub fn open(groups: &[Group], sources: Sources) -> Self {
        let wanted = SENSORS.iter().filter(|(group, _)| groups.contains(group));
        let opened = wanted.map(|(group, open)| (*group, open(&sources))).collect();
        Self { groups: groups.to_vec(), sources, process_id: std::process::id(), opened }
    }

    /// Reads every group that was opened.
    pub fn read(&mut self) -> Vec<Reading> {
        self.read_at(Instant::now())
    }

    /// Reads every group that was opened, with rates as if it were `now`.
    pub fn read_at(&mut self, now: Instant) -> Vec<Reading> {
        self.read_where(|_| true, now)
    }

    /// Reads one group; nothing if it was not opened.
    pub fn read_group(&mut self, group: Group) -> Vec<Reading> {
        self.read_where(|other| other == group, Instant::now())
    }

    fn read_where(&mut self, is_wanted: impl Fn(Group) -> bool, now: Instant) -> Vec<Reading> {
        // Open files in /proc/self are of the process that opened them: a forked child would read its parent's.
        if self.process_id != std::process::id() {
            *self = Self::open(&self.groups, self.sources.clone());
        }
        let mut readings = Vec::new();
        for (group, sensor) in &mut self.opened {
            if is_wanted(*group) {
                sensor.read(now, &mut readings);
            }
        }
        readings
    }
}

/// What all sensors can do.
trait Sensor: Send {
    /// Adds a reading for each of its series, the same ones each time.
    fn read(&mut self, now: Instant, readings: &mut Vec<Reading>);
}

/// Adds figures that are known together or not at all.
fn add<const N: usize>(readings: &mut Vec<Reading>, series: [&'static str; N], values: Result<[f64; N], NotMeasured>) {
    let values = match values {
        Ok(values) => values.map(Ok),
        Err(reason) => series.map(|_| Err(reason.clone())),
    };
    let new = series.into_iter().zip(values);
    readings.extend(new.map(|(series, value)| Reading { series: Cow::Borrowed(series), value }));
}

#[cfg(test)]
mod tests {
    use super::{Group, Sensors, Sources};

    #[test]
    fn a_forked_child_starts_anew() {
        let mut sensors = Sensors::open(&[Group::Cpu], Sources::default());
        let percent = |sensors: &mut Sensors| {
            let readings = sensors.read();
            readings.into_iter().find(|reading| reading.series == "process_cpu_percent").unwrap().value
        };
        let first = percent(&mut sensors);
        assert_eq!(first.unwrap_err().to_string(), "rates need a second reading");
        assert!(percent(&mut sensors).is_ok());
        sensors.process_id = 0;
        assert!(percent(&mut sensors).is_err());
        assert_eq!(sensors.process_id, std::process::id());
    }
}
