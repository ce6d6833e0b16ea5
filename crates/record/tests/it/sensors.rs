//! Sensors on made-up files of the kernel, with answers worked out by hand, and on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stepscope_record::sensors::{Group, Sensors, Sources};
use tempfile::TempDir;

mod devices;
mod gpu;
mod heat_and_energy;
mod memory_and_cpu;
mod this_machine;

const SECOND_READING: &str = "rates need a second reading";

/// A machine of made-up files. Paths begin with `proc` or `sys`.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn sources(&self) -> Sources {
        Sources { proc: self.path("proc"), sys: self.path("sys"), nvml: Some(PathBuf::from("/no/such/library.so")) }
    }

    /// Opens one group of sensors, to be read at times of our choice.
    fn open(&self, group: Group) -> Clockwork<'_> {
        let sensors = Sensors::open(&[group], self.sources());
        Clockwork { machine: self, sensors, now: Instant::now() }
    }

    /// One reading of one group.
    fn read(&self, group: Group) -> Readings {
        self.open(group).read_after_ms(0)
    }
}

/// Sensors with a clock of their own.
struct Clockwork<'a> {
    machine: &'a Machine,
    sensors: Sensors,
    now: Instant,
}

impl Clockwork<'_> {
    fn read_after_ms(&mut self, ms: u64) -> Readings {
        self.now += Duration::from_millis(ms);
        Readings::new(self.machine.folder.path(), self.sensors.read_at(self.now))
    }
}

/// Values and reasons by series.
struct Readings(BTreeMap<String, Result<f64, String>>);

impl Readings {
    /// Paths in reasons are told from the made-up root.
    fn new(root: &Path, readings: Vec<stepscope_record::sensors::Reading>) -> Self {
        let root = root.to_string_lossy().into_owned();
        let count = readings.len();
        let readings: BTreeMap<_, _> = readings
            .into_iter()
            .map(|reading| {
                let value = reading.value.map_err(|reason| reason.to_string().replace(&root, ""));
                (reading.series.into_owned(), value)
            })
            .collect();
        assert_eq!(readings.len(), count, "a series was read twice");
        Self(readings)
    }

    #[track_caller]
    fn value(&self, series: &str) -> f64 {
        self.0[series].clone().unwrap_or_else(|reason| panic!("{series}: {reason}"))
    }

    #[track_caller]
    fn reason(&self, series: &str) -> &str {
        self.0[series].as_ref().expect_err(series)
    }

    /// The values of all series, by name.
    #[track_caller]
    fn assert_values(&self, expected: &[(&str, f64)]) {
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(series, value)| ((*series).to_owned(), Ok(*value))).collect();
        assert_eq!(self.0, expected);
    }

    /// Every series has this reason.
    #[track_caller]
    fn assert_reason(&self, expected: &str) {
        assert!(!self.0.is_empty());
        for series in self.0.keys() {
            assert_eq!(self.reason(series), expected, "{series}");
        }
    }
}
