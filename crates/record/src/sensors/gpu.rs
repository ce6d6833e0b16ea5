//! NVIDIA GPUs, through the NVML library of their driver, which is opened while the program runs.
//!
//! Unverified on hardware: the tests speak with a stand-in (`examples/fake_nvml.rs`).

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::{NotMeasured, Reading, Sensor, Sources, add};

/// What each GPU tells, behind `gpu0_`.
const FIGURES: [&str; 6] = [
    "utilization_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "temperature_celsius",
    "power_watts",
    "energy_joules",
];
/// The name that Linux gives to the namespace of processes that is the machine's own.
const MACHINES_PROCESSES: &str = "pid:[4026531836]";

pub(super) struct Gpus {
    driver: Result<Driver, NotMeasured>,
}

struct Driver {
    nvml: Nvml,
    /// Whether numbers of processes mean the same to us and to the driver.
    shares_process_ids: bool,
    /// For each GPU, what its energy counter said when it was opened.
    energy_at_open_mj: Vec<Result<u64, NotMeasured>>,
}

impl Gpus {
    pub(super) fn open(sources: &Sources) -> Self {
        Self { driver: Driver::open(sources) }
    }
}

impl Sensor for Gpus {
    fn read(&mut self, _now: Instant, readings: &mut Vec<Reading>) {
        let process_memory = match &self.driver {
            Ok(driver) => {
                let devices: Vec<_> =
                    (0..).zip(&driver.energy_at_open_mj).map(|(index, _)| driver.nvml.device_by_index(index)).collect();
                for (index, device) in devices.iter().enumerate() {
                    add_figures(readings, index, driver.figures(index, device));
                }
                driver.process_memory_bytes(&devices)
            }
            Err(reason) => {
                add_figures(readings, 0, FIGURES.map(|_| Err(reason.clone())));
                Err(reason.clone())
            }
        };
        add(readings, ["gpu_process_memory_bytes"], process_memory.map(|bytes| [bytes]));
    }
}

impl Driver {
    fn open(sources: &Sources) -> Result<Self, NotMeasured> {
        let mut builder = Nvml::builder();
        if let Some(path) = &sources.nvml {
            builder.lib_path(path.as_os_str());
        }
        let nvml = builder.init().map_err(|error| no_driver(sources.nvml.as_deref(), &error))?;
        let count = nvml.device_count().map_err(|error| not_told(&error))?;
        if count == 0 {
            return Err(NotMeasured::new("the NVIDIA driver reports no GPU that is visible to this process"));
        }
        let energy_at_open_mj = (0..count).map(|index| {
            let energy = nvml.device_by_index(index).and_then(|device| device.total_energy_consumption());
            energy.map_err(|error| not_told(&error))
        });
        let energy_at_open_mj = energy_at_open_mj.collect();
        let namespace = std::fs::read_link(sources.proc.join("self/ns/pid"));
        let shares_process_ids = namespace.is_ok_and(|name| name == Path::new(MACHINES_PROCESSES));
        Ok(Self { nvml, shares_process_ids, energy_at_open_mj })
    }

    fn figures(
        &self,
        index: usize,
        device: &Result<Device<'_>, NvmlError>,
    ) -> [Result<f64, NotMeasured>; FIGURES.len()] {
        let device = match device {
            Ok(device) => device,
            Err(error) => return FIGURES.map(|_| Err(not_told(error))),
        };
        let told = |figure: Result<f64, NvmlError>| figure.map_err(|error| not_told(&error));
        let memory = device.memory_info();
        let memory = memory.as_ref().map_err(not_told);
        [
            told(device.utilization_rates().map(|rates| f64::from(rates.gpu))),
            memory.clone().map(|memory| memory.used as f64),
            memory.map(|memory| memory.total as f64),
            told(device.temperature(TemperatureSensor::Gpu).map(f64::from)),
            told(device.power_usage().map(|milliwatts| f64::from(milliwatts) / 1000.0)),
            self.energy_joules(index, device),
        ]
    }

    /// Energy since the sensor was opened.
    fn energy_joules(&self, index: usize, device: &Device<'_>) -> Result<f64, NotMeasured> {
        let at_open_mj = self.energy_at_open_mj[index].clone()?;
        let now_mj = device.total_energy_consumption().map_err(|error| not_told(&error))?;
        let since_mj = now_mj
            .checked_sub(at_open_mj)
            .ok_or_else(|| NotMeasured::new("the GPU's energy counter was reset after the sensor was opened"))?;
        Ok(since_mj as f64 / 1000.0)
    }

    /// What the compute contexts of this process hold on all GPUs. It is nothing if the driver does not list this
    /// process, provided that the driver would know it.
    fn process_memory_bytes(&self, devices: &[Result<Device<'_>, NvmlError>]) -> Result<f64, NotMeasured> {
        let mut bytes = None;
        for device in devices {
            let device = device.as_ref().map_err(not_told)?;
            let processes = device.running_compute_processes().map_err(|error| not_told(&error))?;
            for process in processes.iter().filter(|process| process.pid == std::process::id()) {
                let UsedGpuMemory::Used(used) = process.used_gpu_memory else {
                    return Err(NotMeasured::new("the NVIDIA driver does not report the memory of processes"));
                };
                bytes = Some(bytes.unwrap_or(0.0) + used as f64);
            }
        }
        bytes.or(self.shares_process_ids.then_some(0.0)).ok_or_else(|| {
            NotMeasured::new(
                "this process is in a container, where the NVIDIA driver may use another process id for it",
            )
        })
    }
}

fn add_figures(readings: &mut Vec<Reading>, index: usize, figures: [Result<f64, NotMeasured>; FIGURES.len()]) {
    for (name, value) in FIGURES.into_iter().zip(figures) {
        readings.push(Reading { series: Cow::Owned(format!("gpu{index}_{name}")), value });
    }
}

fn no_driver(library: Option<&Path>, error: &NvmlError) -> NotMeasured {
    let library = library.map(|path| path.display().to_string());
    NotMeasured::new(match (error, library) {
        (NvmlError::LibloadingError(_), None) => "no NVIDIA driver library on this machine".to_owned(),
        (NvmlError::LibloadingError(error), Some(_)) => format!("the NVML library could not be opened: {error}"),
        (NvmlError::FailedToLoadSymbol(error), _) => format!("this is not an NVML library: {error}"),
        (error, _) => format!("NVML did not start: {error}"),
    })
}

fn not_told(error: &NvmlError) -> NotMeasured {
    NotMeasured::new(match error {
        NvmlError::NotSupported => "this GPU does not report it".to_owned(),
        NvmlError::FailedToLoadSymbol(error) => format!("the NVIDIA driver is too old to report it: {error}"),
        error => format!("NVML failed: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nvml_wrapper::Nvml;
    use nvml_wrapper::error::NvmlError;

    use super::{no_driver, not_told};

    #[test]
    fn reasons_say_what_is_missing() {
        let missing = Path::new("/no/such/library.so");
        let error = Nvml::builder().lib_path(missing.as_os_str()).init().unwrap_err();
        assert_eq!(no_driver(None, &error).to_string(), "no NVIDIA driver library on this machine");
        let reason = no_driver(Some(missing), &error).to_string();
        assert!(reason.starts_with("the NVML library could not be opened: /no/such/library.so"), "{reason}");
        let reason = no_driver(None, &NvmlError::DriverNotLoaded).to_string();
        assert_eq!(reason, "NVML did not start: NVIDIA driver is not loaded");
        assert_eq!(not_told(&NvmlError::NotSupported).to_string(), "this GPU does not report it");
        assert!(not_told(&NvmlError::GpuLost).to_string().starts_with("NVML failed: "));
        let old = NvmlError::FailedToLoadSymbol("nvmlDeviceGetMemoryInfo_v2".to_owned());
        let reason = not_told(&old).to_string();
        assert_eq!(reason, "the NVIDIA driver is too old to report it: nvmlDeviceGetMemoryInfo_v2");
    }
}
