//! Energy that the CPU packages took since the sensor was opened, by the counters that Intel calls RAPL; AMD has them
//! too. Memory and graphics beside the package are not in it.

use std::path::Path;
use std::time::Instant;

use super::kernel_file::{KernelFile, entries, not_there};
use super::{NotMeasured, Reading, Sensor, Sources, add};

/// More than any CPU package takes. A counter may have gone round once more when so much power could have done it.
const MOST_WATTS: f64 = 1000.0;

pub(super) struct Energy {
    packages: Result<Vec<Package>, NotMeasured>,
}

/// The counter of one CPU package.
struct Package {
    counter: KernelFile,
    /// Where the counter starts again from 0.
    range_uj: u64,
    before: (Instant, u64),
    total_uj: f64,
}

impl Energy {
    pub(super) fn open(sources: &Sources) -> Self {
        Self { packages: open_packages(&sources.sys.join("class/powercap")) }
    }

    fn measure(&mut self, now: Instant) -> Result<f64, NotMeasured> {
        let packages = self.packages.as_mut().map_err(|reason| reason.clone())?;
        let mut total_uj = 0.0;
        for package in packages {
            let count_uj = package.counter.number()?;
            total_uj += match package.add(now, count_uj) {
                Ok(total_uj) => total_uj,
                Err(reason) => {
                    // What was missed stays missing in every later total.
                    self.packages = Err(reason.clone());
                    return Err(reason);
                }
            };
        }
        Ok(total_uj / 1e6)
    }
}

impl Sensor for Energy {
    fn read(&mut self, now: Instant, readings: &mut Vec<Reading>) {
        add(readings, ["cpu_energy_joules"], self.measure(now).map(|joules| [joules]));
    }
}

impl Package {
    fn open(folder: &Path) -> Result<Self, NotMeasured> {
        let mut counter = KernelFile::open(folder.join("energy_uj"));
        let before = (Instant::now(), counter.number()?);
        let range_uj = KernelFile::open(folder.join("max_energy_range_uj")).number()?;
        Ok(Self { counter, range_uj, before, total_uj: 0.0 })
    }

    /// Energy since the sensor was opened.
    fn add(&mut self, now: Instant, count_uj: u64) -> Result<f64, NotMeasured> {
        let (then, before_uj) = self.before;
        let safe_seconds = self.range_uj as f64 / 1e6 / MOST_WATTS;
        if now.saturating_duration_since(then).as_secs_f64() > safe_seconds {
            return Err(NotMeasured::new(format!(
                "the energy counter may have wrapped around unseen; read it at least every {safe_seconds:.0} s"
            )));
        }
        let grown_uj = match count_uj.checked_sub(before_uj) {
            Some(grown_uj) => grown_uj,
            None => self
                .range_uj
                .checked_sub(before_uj)
                .map(|rest_uj| rest_uj.saturating_add(count_uj))
                .ok_or_else(|| self.counter.lacks("a number below that of max_energy_range_uj"))?,
        };
        self.before = (now, count_uj);
        self.total_uj += grown_uj as f64;
        Ok(self.total_uj)
    }
}

/// Packages are `intel-rapl:0` and so on. What has another number behind is a part of one, `psys` is the whole machine,
/// and `intel-rapl-mmio:0` is another way to the same counter.
fn open_packages(powercap: &Path) -> Result<Vec<Package>, NotMeasured> {
    let folders = entries(powercap).into_iter().filter(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_whole = name.strip_prefix("intel-rapl:").is_some_and(|number| !number.contains(':'));
        is_whole && std::fs::read_to_string(folder.join("name")).is_ok_and(|name| name.starts_with("package"))
    });
    let packages: Vec<Package> = folders.map(|folder| Package::open(&folder)).collect::<Result<_, _>>()?;
    if packages.is_empty() {
        return Err(not_there(format!("this machine reports no energy of CPU packages in {}", powercap.display())));
    }
    Ok(packages)
}
