//! Sensors on the machine that runs the tests.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use stepscope_record::clock::process_cpu_time;
use stepscope_record::sensors::{Group, Sensors, Sources};

use super::Readings;

const MEBIBYTE: usize = 1 << 20;

fn read(sensors: &mut Sensors) -> Readings {
    Readings::new(Path::new("/nowhere"), sensors.read())
}

#[test]
fn memory_that_is_touched_is_seen() {
    let mut sensors = Sensors::open(&[Group::Memory], Sources::default());
    let before = read(&mut sensors);
    let block = black_box(vec![1_u8; 50 * MEBIBYTE]);
    let during = read(&mut sensors);
    drop(block);
    let after = read(&mut sensors);
    let grown = (during.value("process_rss_bytes") - before.value("process_rss_bytes")) / MEBIBYTE as f64;
    // Other tests may run in this process.
    assert!((45.0..200.0).contains(&grown), "{grown} MiB");
    for readings in [&before, &during, &after] {
        assert!(readings.value("process_peak_rss_bytes") >= readings.value("process_rss_bytes"));
        assert!((0.0..=100.0).contains(&readings.value("memory_percent")));
        assert!(readings.value("memory_used_bytes") >= 1e6);
        assert!(readings.value("memory_total_bytes") >= readings.value("memory_used_bytes"));
    }
    assert!(after.value("process_peak_rss_bytes") >= during.value("process_rss_bytes"));
}

#[test]
fn shares_and_rates_are_possible() {
    let groups = [Group::Cpu, Group::Disk, Group::Network];
    let mut sensors = Sensors::open(&groups, Sources::default());
    read(&mut sensors);
    let started = std::time::Instant::now();
    while started.elapsed() < Duration::from_millis(200) {
        black_box(started.elapsed());
    }
    let readings = read(&mut sensors);
    for series in ["cpu_percent", "disk_io_wait_percent"] {
        assert!((0.0..=100.0).contains(&readings.value(series)), "{series}: {}", readings.value(series));
    }
    assert!(readings.value("process_cpu_percent") > 5.0);
    assert!(readings.value("process_cpu_seconds") > 0.02);
    // A machine may have neither disks nor a network.
    for value in readings.0.values().flatten() {
        assert!(*value >= 0.0);
    }
    assert_eq!(readings.0.len(), 9);
}

#[test]
fn a_group_that_was_not_opened_has_no_readings() {
    let mut sensors = Sensors::open(&[Group::Cpu], Sources::default());
    assert!(sensors.read_group(Group::Memory).is_empty());
    assert_eq!(sensors.read_group(Group::Cpu).len(), 4);
    for group in Group::ALL {
        assert_eq!(Group::from_name(group.name()), Some(group));
    }
    assert_eq!(Group::from_name("weather"), None);
}

/// Ten readings a second shall take far less than 0.5 % of a core, which is 500 µs a reading. What NVIDIA's driver
/// takes is not ours to promise.
#[test]
fn a_reading_is_cheap() {
    let groups: Vec<Group> = Group::ALL.into_iter().filter(|group| *group != Group::Gpu).collect();
    let mut sensors = Sensors::open(&groups, Sources::default());
    let before = process_cpu_time();
    for _ in 0..1000 {
        black_box(sensors.read());
    }
    let a_reading = process_cpu_time().saturating_sub(before) / 1000;
    assert!(!a_reading.is_zero() && a_reading < Duration::from_micros(400), "{a_reading:?}");
}
