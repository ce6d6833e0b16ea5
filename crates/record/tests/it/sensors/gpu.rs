//! GPUs, through a stand-in for NVIDIA's library.

use std::path::{Path, PathBuf};
use std::process::Command;

use stepscope_record::sensors::{Group, Sensors, Sources};

use super::{Machine, Readings};

const GIB: f64 = 1_073_741_824.0;
/// What tells that a process is in no container.
const NO_CONTAINER: &str = "pid:[4026531836]";

/// The stand-in, which is built together with the tests.
fn fake_nvml() -> PathBuf {
    let test_binary = std::env::current_exe().unwrap();
    let path = test_binary.parent().unwrap().parent().unwrap().join("examples/libfake_nvml.so");
    assert!(path.is_file(), "build it first: cargo build -p stepscope-record --example fake_nvml");
    path
}

fn open(machine: &Machine, nvml: Option<&Path>) -> Sensors {
    Sensors::open(&[Group::Gpu], Sources { nvml: nvml.map(Path::to_path_buf), ..machine.sources() })
}

#[track_caller]
fn read(sensors: &mut Sensors) -> Readings {
    Readings::new(Path::new("/nowhere"), sensors.read())
}

#[test]
fn the_environment_names_another_library() {
    let library = "/some/library.so";
    if std::env::var_os("STEPSCOPE_NVML").is_some_and(|path| path == library) {
        assert_eq!(Sources::default().nvml, Some(PathBuf::from(library)));
        return;
    }
    // The environment of a running process with threads is not to be changed, so this test runs once more.
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "sensors::gpu::the_environment_names_another_library"]).env("STEPSCOPE_NVML", library);
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// In one test, as the stand-in counts its calls.
#[test]
fn two_gpus_tell_their_figures() {
    let machine = Machine::new(&[]);
    machine.link("proc/self/ns/pid", NO_CONTAINER);
    let mut sensors = open(&machine, Some(&fake_nvml()));
    let first = read(&mut sensors);
    let expected = [
        ("gpu0_utilization_percent", 87.0),
        ("gpu0_memory_used_bytes", 10.0 * GIB),
        ("gpu0_memory_total_bytes", 80.0 * GIB),
        ("gpu0_temperature_celsius", 61.0),
        ("gpu0_power_watts", 250.5),
        // The stand-in says 5 J more each time, and was asked when the sensor was opened.
        ("gpu0_energy_joules", 5.0),
        ("gpu1_utilization_percent", 3.0),
        ("gpu1_memory_used_bytes", GIB),
        ("gpu1_memory_total_bytes", 24.0 * GIB),
        ("gpu1_temperature_celsius", 40.0),
        ("gpu1_power_watts", 30.25),
        // 2 GiB on the first and 0.5 GiB on the second; another process has 4 GiB on each.
        ("gpu_process_memory_bytes", 2.5 * GIB),
    ];
    for (series, value) in expected {
        assert!((first.value(series) - value).abs() < 1e-9, "{series}: {}", first.value(series));
    }
    assert_eq!(first.reason("gpu1_energy_joules"), "this GPU does not report it");
    assert_eq!(first.0.len(), expected.len() + 1);
    assert!((read(&mut sensors).value("gpu0_energy_joules") - 10.0).abs() < 1e-9);
}

#[test]
fn a_library_that_is_not_there_or_no_nvml_is_a_reason() {
    let machine = Machine::new(&[("not_a_library.so", "text")]);
    let check = |library: &Path, reason: &str| {
        let readings = read(&mut open(&machine, Some(library)));
        assert_eq!(readings.0.len(), 7, "the series of GPU 0 and that of the process");
        for series in ["gpu0_utilization_percent", "gpu0_energy_joules", "gpu_process_memory_bytes"] {
            let found = readings.reason(series);
            assert!(found.starts_with(reason), "{found}");
            assert!(found.len() > reason.len(), "{found}");
        }
    };
    check(Path::new("/no/such/library.so"), "the NVML library could not be opened: /no/such/library.so: ");
    check(&machine.path("not_a_library.so"), "the NVML library could not be opened: ");
    // A library, but not NVML.
    check(Path::new("libc.so.6"), "this is not an NVML library: ");
}
