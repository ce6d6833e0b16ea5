//! The process and the machine: memory and CPU.

use stepscope_record::sensors::Group;

use super::{Machine, Readings, SECOND_READING};

const STATUS: (&str, &str) =
    ("proc/self/status", "Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n");
/// 1,000 KiB, of which 600 are available.
const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\n");

fn memory(files: &[(&str, &str)]) -> Readings {
    Machine::new(&[&[STATUS, MEMINFO], files].concat()).read(Group::Memory)
}

#[track_caller]
fn check_memory(files: &[(&str, &str)], percent: f64, used_bytes: f64, total_bytes: f64) {
    memory(files).assert_values(&[
        ("process_rss_bytes", 204_800.0),
        ("process_peak_rss_bytes", 307_200.0),
        ("memory_percent", percent),
        ("memory_used_bytes", used_bytes),
        ("memory_total_bytes", total_bytes),
    ]);
}

#[test]
fn memory_is_of_the_machine_or_of_the_tightest_group() {
    // No control groups at all.
    check_memory(&[], 40.0, 409_600.0, 1_024_000.0);
    let version_2 = ("proc/self/cgroup", "0::/job/step\n");
    // Version 2: the inner group has no limit, the outer one has; files that are only cached are not in use.
    let limited = [
        version_2,
        ("sys/fs/cgroup/job/step/memory.max", "max\n"),
        ("sys/fs/cgroup/job/memory.max", "100000\n"),
        ("sys/fs/cgroup/job/memory.current", "80000\n"),
        ("sys/fs/cgroup/job/memory.stat", "anon 50000\ninactive_file 30000\n"),
    ];
    check_memory(&limited, 50.0, 50_000.0, 100_000.0);
    // A limit above what the machine has limits nothing.
    check_memory(&[version_2, ("sys/fs/cgroup/job/memory.max", "9000000\n")], 40.0, 409_600.0, 1_024_000.0);
    // In a container, where the path of the host is not mounted.
    let container = [
        ("proc/self/cgroup", "0::/../../docker/abc\n"),
        ("sys/fs/cgroup/memory.max", "200000\n"),
        ("sys/fs/cgroup/memory.current", "50000\n"),
        ("sys/fs/cgroup/memory.stat", "inactive_file 0\n"),
    ];
    check_memory(&container, 25.0, 50_000.0, 200_000.0);
    // Version 1 beside an empty version 2; nothing limits the mount itself.
    let version_1 = [
        ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "400000\n"),
        ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100000\n"),
        ("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 20000\n"),
    ];
    check_memory(&version_1, 20.0, 80_000.0, 400_000.0);
    // Of equal limits the outer one counts.
    let equal = [
        version_2,
        ("sys/fs/cgroup/job/step/memory.max", "100000\n"),
        ("sys/fs/cgroup/job/step/memory.current", "1000\n"),
        ("sys/fs/cgroup/job/memory.max", "100000\n"),
        ("sys/fs/cgroup/job/memory.current", "90000\n"),
        ("sys/fs/cgroup/job/memory.stat", "inactive_file 0\n"),
    ];
    check_memory(&equal, 90.0, 90_000.0, 100_000.0);
}

#[test]
fn memory_that_cannot_be_read_has_a_reason() {
    let check = |files: &[(&str, &str)], series: &str, reason: &str| {
        assert_eq!(memory(files).reason(series), reason);
    };
    // Nonsense.
    check(
        &[("proc/meminfo", "nonsense")],
        "memory_percent",
        "MemTotal was expected in /proc/meminfo, but is not there",
    );
    check(
        &[("proc/meminfo", "MemTotal: 0 kB\nMemAvailable: 0 kB\n")],
        "memory_percent",
        "an amount of memory was expected in /proc/meminfo, but is not there",
    );
    // A kernel that does not tell what is available.
    check(
        &[("proc/meminfo", "MemTotal: 10 kB\n")],
        "memory_used_bytes",
        "MemAvailable was expected in /proc/meminfo, but is not there",
    );
    check(
        &[("proc/self/status", "VmRSS: many\n")],
        "process_rss_bytes",
        "VmRSS was expected in /proc/self/status, but is not there",
    );
    // A group that is limited but does not tell its use.
    let half = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "1000\n")];
    check(&half, "memory_used_bytes", "this machine has no /sys/fs/cgroup/memory.current");
    // Nothing at all.
    let readings = Machine::new(&[]).read(Group::Memory);
    assert_eq!(readings.reason("process_peak_rss_bytes"), "this machine has no /proc/self/status");
    assert_eq!(readings.reason("memory_total_bytes"), "this machine has no /proc/meminfo");
}

#[test]
fn a_peak_that_is_not_told_leaves_the_rest() {
    let readings = memory(&[("proc/self/status", "VmRSS:\t200 kB\n")]);
    assert!((readings.value("process_rss_bytes") - 204_800.0).abs() < 1.0);
    assert_eq!(readings.reason("process_peak_rss_bytes"), "VmHWM was expected in /proc/self/status, but is not there");
}

#[test]
fn the_peak_is_never_below_what_was_read() {
    let machine = Machine::new(&[STATUS]);
    let mut memory = machine.open(Group::Memory);
    let mut check = |status: &str, peak_kib: f64| {
        machine.write("proc/self/status", status);
        let found_kib = memory.read_after_ms(100).value("process_peak_rss_bytes") / 1024.0;
        assert!((found_kib - peak_kib).abs() < 1e-9, "{found_kib}");
    };
    check("VmHWM: 300 kB\nVmRSS: 200 kB\n", 300.0);
    check("VmHWM: 350 kB\nVmRSS: 350 kB\n", 350.0);
    // The kernel counts the peak a little low once it is over.
    check("VmHWM: 340 kB\nVmRSS: 100 kB\n", 350.0);
    check("VmHWM: 400 kB\nVmRSS: 100 kB\n", 400.0);
}

#[test]
fn cpu_is_what_was_neither_idle_nor_waiting() {
    let machine = Machine::new(&[("proc/stat", "cpu  100 0 50 800 40 5 5 0 9 9\ncpu0 1 2 3\n")]);
    let mut cpu = machine.open(Group::Cpu);
    let first = cpu.read_after_ms(0);
    assert_eq!(first.reason("cpu_percent"), SECOND_READING);
    assert_eq!(first.reason("disk_io_wait_percent"), SECOND_READING);
    let mut check = |line: &str, expected: Result<(f64, f64), &str>| {
        machine.write("proc/stat", line);
        let readings = cpu.read_after_ms(100);
        match expected {
            Ok((busy, waiting)) => {
                let found = (readings.value("cpu_percent"), readings.value("disk_io_wait_percent"));
                assert_eq!(found, (busy, waiting), "{line}");
            }
            Err(reason) => assert_eq!(readings.reason("cpu_percent"), reason, "{line}"),
        }
    };
    // 30 user, 10 system, 40 idle, 20 waiting.
    check("cpu  130 0 60 840 60 5 5 0 9 9\n", Ok((40.0, 20.0)));
    // Waiting goes back by 10, as it is known to: 10 user and 10 idle remain.
    check("cpu  140 0 60 850 50 5 5 0 9 9\n", Ok((50.0, 0.0)));
    // No tick passed: the last one stands.
    check("cpu  140 0 60 850 50 5 5 0 9 9\n", Ok((50.0, 0.0)));
    check("cpu  140 0 60 850 50 5 5 0 9 9\n", Ok((50.0, 0.0)));
    // All counters started anew, and count from there.
    check("cpu  0 0 0 0 0 0 0 0 0 0\n", Err("the two readings are too close together for a rate"));
    check("cpu  0 0 0 0 0 0 0 0 0 0\n", Err("the two readings are too close together for a rate"));
    check("cpu  0 0 0 4 0 0 0 0 0 0\n", Ok((0.0, 0.0)));
    // Numbers that no machine reaches; three fourths of them are time in use.
    let most = u64::MAX;
    check(&format!("cpu  {most} {most} {most} {most} 0 0 0 0\n"), Ok((75.0, 0.0)));
    check("cpu  0 0 0 4 0 0 0 0 0 0\n", Err("the two readings are too close together for a rate"));
    // Nonsense, and then sense again.
    let nonsense = "a first line with the time of all cores was expected in /proc/stat, but is not there";
    check("cpu  1 2 three\n", Err(nonsense));
    check("intr 1\ncpu  1 2 3 4 5 6 7 8\n", Err(nonsense));
    check("", Err(nonsense));
    check("cpu  1 0 0 4 0 0 0 0 0 0\n", Ok((100.0, 0.0)));
}

#[test]
fn the_process_is_measured_without_files() {
    let readings = Machine::new(&[]).read(Group::Cpu);
    assert_eq!(readings.reason("cpu_percent"), "this machine has no /proc/stat");
    assert!(readings.value("process_cpu_seconds") > 0.0);
}
