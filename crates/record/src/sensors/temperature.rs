//! Temperature of the CPU; of the hottest if there are several.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::kernel_file::{KernelFile, entries, not_there};
use super::{NotMeasured, Reading, Sensor, Sources, add};

/// Drivers whose sensors are in the CPU.
const CPU_DRIVERS: [&str; 6] = ["coretemp", "cpu_thermal", "k10temp", "k8temp", "via_cputemp", "zenpower"];
/// Labels of the sensor that stands for a whole CPU, best first. `Tctl` of some CPUs is above the real temperature.
const WHOLE_CPU_LABELS: [&str; 3] = ["Package id", "Tdie", "Tctl"];
/// Parts of the types of thermal zones that are of the CPU, best first.
const CPU_ZONES: [&str; 3] = ["x86_pkg_temp", "cpu", "soc"];
/// Sensors that fail tell impossible temperatures.
const POSSIBLE_MILLIDEGREES: std::ops::RangeInclusive<i64> = -60_000..=150_000;

pub(super) struct Temperature {
    millidegrees: Vec<KernelFile>,
}

impl Temperature {
    pub(super) fn open(sources: &Sources) -> Self {
        let mut paths: Vec<PathBuf> =
            entries(&sources.sys.join("class/hwmon")).iter().flat_map(|chip| chip_inputs(chip)).collect();
        if paths.is_empty() {
            paths = zone_inputs(&entries(&sources.sys.join("class/thermal")));
        }
        Self { millidegrees: paths.into_iter().map(KernelFile::open).collect() }
    }

    fn measure(&mut self) -> Result<f64, NotMeasured> {
        let mut hottest: Result<i64, _> = Err(not_there("this machine has no temperature sensor of the CPU"));
        for file in &mut self.millidegrees {
            let found = file.number::<i64>().and_then(|number| {
                let is_possible = POSSIBLE_MILLIDEGREES.contains(&number);
                if is_possible { Ok(number) } else { Err(file.lacks("a possible temperature")) }
            });
            hottest = match (hottest, found) {
                (Ok(one), Ok(other)) => Ok(one.max(other)),
                (Ok(one), Err(_)) => Ok(one),
                (Err(_), found) => found,
            };
        }
        Ok(hottest? as f64 / 1000.0)
    }
}

impl Sensor for Temperature {
    fn read(&mut self, _now: Instant, readings: &mut Vec<Reading>) {
        add(readings, ["cpu_temperature_celsius"], self.measure().map(|celsius| [celsius]));
    }
}

/// The files of a chip that tell the CPU's temperature: of whole CPUs if it has such, else of all cores.
fn chip_inputs(chip: &Path) -> Vec<PathBuf> {
    if !CPU_DRIVERS.contains(&text(&chip.join("name")).as_str()) {
        return Vec::new();
    }
    let inputs = entries(chip).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        let start = name.strip_suffix("_input").filter(|start| start.starts_with("temp"))?;
        let label = text(&chip.join(format!("{start}_label")));
        Some((label, path))
    });
    let inputs: Vec<_> = inputs.collect();
    let whole = best(&inputs, &WHOLE_CPU_LABELS, |label, start| label.starts_with(start));
    whole.unwrap_or_else(|| inputs.into_iter().map(|(_, path)| path).collect())
}

fn zone_inputs(zones: &[PathBuf]) -> Vec<PathBuf> {
    let zones: Vec<_> = zones.iter().map(|zone| (text(&zone.join("type")).to_lowercase(), zone.join("temp"))).collect();
    best(&zones, &CPU_ZONES, |kind, part| kind.contains(part)).unwrap_or_default()
}

/// The paths whose word fits the first of the wishes that any fits.
fn best(paths: &[(String, PathBuf)], wishes: &[&str], fits: impl Fn(&str, &str) -> bool) -> Option<Vec<PathBuf>> {
    let wish = wishes.iter().find(|wish| paths.iter().any(|(word, _)| fits(word, wish)))?;
    Some(paths.iter().filter(|(word, _)| fits(word, wish)).map(|(_, path)| path.clone()).collect())
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
