//! Disks and network interfaces.

use stepscope_record::sensors::Group;

use super::{Machine, SECOND_READING};

const BACKWARDS: &str = "a counter of the kernel went backwards between the two readings";

/// Lines of /proc/diskstats: name, sectors read, sectors written, milliseconds busy.
fn diskstats(disks: &[(&str, u64, u64, u64)]) -> String {
    let lines = disks.iter().map(|(name, read, written, busy_ms)| {
        format!("   8       0 {name} 11 12 {read} 13 14 15 {written} 16 17 {busy_ms} 18 0 0 0 0\n")
    });
    lines.collect()
}

/// Lines of /proc/net/dev: name, bytes received, bytes sent.
fn net_dev(interfaces: &[(&str, u64, u64)]) -> String {
    let lines = interfaces
        .iter()
        .map(|(name, received, sent)| format!("{name:>6}: {received} 1 2 3 4 5 6 7 {sent} 1 2 3 4 5 6 7\n"));
    format!("Inter-| Receive | Transmit\n face |bytes|bytes\n{}", lines.collect::<String>())
}

#[test]
fn disks_are_counted_once() {
    // What stands on other devices has no device of its own; a partition is no block device; one path is hidden.
    let machine = Machine::new(&[
        ("sys/block/sda/device/model", "x"),
        ("sys/block/cciss!c0d0/device/model", "x"),
        ("sys/block/nvme0c0n1/device/model", "x"),
        ("sys/block/nvme0c0n1/hidden", "1\n"),
        ("sys/block/dm-0/dm/name", "root"),
    ]);
    let others = [("sda1", 900, 900, 900), ("dm-0", 900, 900, 900), ("nvme0c0n1", 900, 900, 900)];
    let stats = |sda: (u64, u64, u64), second: (u64, u64, u64)| {
        let disks = [("sda", sda.0, sda.1, sda.2), ("cciss/c0d0", second.0, second.1, second.2)];
        machine.write("proc/diskstats", diskstats(&disks) + &diskstats(&others));
    };
    stats((1000, 2000, 100), (0, 0, 0));
    let mut disk = machine.open(Group::Disk);
    disk.read_after_ms(0).assert_reason(SECOND_READING);
    // In 2 s: 100 + 300 sectors read, 40 written; busy 500 ms and 1,000 ms.
    stats((1100, 2040, 600), (300, 0, 1000));
    disk.read_after_ms(2000).assert_values(&[
        ("disk_io_percent", 50.0),
        ("disk_read_bytes_per_s", 102_400.0),
        ("disk_written_bytes_per_s", 10_240.0),
    ]);
    // A busy time a little above the time that passed is all of it.
    stats((1100, 2040, 1700), (300, 0, 1000));
    disk.read_after_ms(1000).assert_values(&[
        ("disk_io_percent", 100.0),
        ("disk_read_bytes_per_s", 0.0),
        ("disk_written_bytes_per_s", 0.0),
    ]);
    // No time passed.
    disk.read_after_ms(0).assert_reason("the two readings are too close together for a rate");
}

#[test]
fn disk_counters_that_go_back_give_no_rate() {
    let machine = Machine::new(&[("sys/block/sda/device/model", "x")]);
    let wrapping = u64::from(u32::MAX) - 99;
    machine.write("proc/diskstats", diskstats(&[("sda", 1000, 1000, wrapping)]));
    let mut disk = machine.open(Group::Disk);
    disk.read_after_ms(0).assert_reason(SECOND_READING);
    // The busy time has 32 bits: 100 ms to the end, and 150 ms behind it.
    machine.write("proc/diskstats", diskstats(&[("sda", 1000, 1000, 150)]));
    assert!((disk.read_after_ms(1000).value("disk_io_percent") - 25.0).abs() < 1e-9);
    // The disk was replaced.
    machine.write("proc/diskstats", diskstats(&[("sda", 500, 1000, 150)]));
    disk.read_after_ms(1000).assert_reason(BACKWARDS);
    machine.write("proc/diskstats", diskstats(&[("sda", 500, 1000, 20)]));
    disk.read_after_ms(1000).assert_reason(BACKWARDS);
    machine.write("proc/diskstats", diskstats(&[("sda", 500, 1000, 30)]));
    assert!((disk.read_after_ms(1000).value("disk_io_percent") - 1.0).abs() < 1e-9);
}

#[test]
fn disks_that_come_and_go_are_left_out() {
    let machine = Machine::new(&[("sys/block/sda/device/model", "x"), ("sys/block/sdb/device/model", "x")]);
    machine.write("proc/diskstats", diskstats(&[("sda", 0, 0, 0)]));
    let mut disk = machine.open(Group::Disk);
    disk.read_after_ms(0).assert_reason(SECOND_READING);
    machine.write("proc/diskstats", diskstats(&[("sda", 10, 0, 0), ("sdb", 9999, 9999, 500)]));
    disk.read_after_ms(1000).assert_values(&[
        ("disk_io_percent", 0.0),
        ("disk_read_bytes_per_s", 5120.0),
        ("disk_written_bytes_per_s", 0.0),
    ]);
    machine.write("proc/diskstats", diskstats(&[]));
    disk.read_after_ms(1000).assert_reason("this machine has no disk in /sys/block");
    machine.write("proc/diskstats", diskstats(&[("sda", 10, 0, 0)]));
    disk.read_after_ms(1000).assert_values(&[
        ("disk_io_percent", 0.0),
        ("disk_read_bytes_per_s", 0.0),
        ("disk_written_bytes_per_s", 0.0),
    ]);
    machine.write("proc/diskstats", diskstats(&[("sdb", 9999, 9999, 500)]));
    disk.read_after_ms(1000).assert_reason("no device is in both readings, so the rate is not known");
}

#[test]
fn disks_that_cannot_be_read_have_a_reason() {
    let check = |files: &[(&str, &str)], reason: &str| Machine::new(files).read(Group::Disk).assert_reason(reason);
    let sda = ("sys/block/sda/device/model", "x");
    let nonsense = "a line of numbers for each disk was expected in /proc/diskstats, but is not there";
    check(&[], "this machine has no /proc/diskstats");
    check(
        &[("proc/diskstats", "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n")],
        "this machine has no disk in /sys/block",
    );
    check(&[sda, ("proc/diskstats", "8 0 sda 1 2 3\n")], nonsense);
    check(&[sda, ("proc/diskstats", "8 0 sda 1 1 x 1 1 1 1 1 1 1 1\n")], nonsense);
    check(&[sda, ("proc/diskstats", "nonsense\n")], nonsense);
}

#[test]
fn interfaces_of_hardware_are_counted_once() {
    // The bridge counts the same again; `fast` is the path of `eth0` to the same wire.
    let machine = Machine::new(&[
        ("sys/class/net/eth0/device/vendor", "x"),
        ("sys/class/net/eth1/device/vendor", "x"),
        ("sys/class/net/fast/device/vendor", "x"),
        ("sys/class/net/docker0/bridge/x", "x"),
    ]);
    machine.link("sys/class/net/fast/master", "../eth0");
    let counters = |eth0: (u64, u64), eth1: (u64, u64)| {
        let interfaces = [
            ("lo", 5, 5),
            ("eth0", eth0.0, eth0.1),
            ("eth1", eth1.0, eth1.1),
            ("fast", eth0.0, eth0.1),
            ("docker0", eth0.0, eth0.1),
        ];
        machine.write("proc/self/net/dev", net_dev(&interfaces));
    };
    counters((1000, 100), (0, 0));
    let mut network = machine.open(Group::Network);
    network.read_after_ms(0).assert_reason(SECOND_READING);
    counters((3000, 200), (500, 20));
    network
        .read_after_ms(500)
        .assert_values(&[("network_received_bytes_per_s", 5000.0), ("network_sent_bytes_per_s", 240.0)]);
    // The driver was loaded anew.
    counters((0, 0), (500, 20));
    network.read_after_ms(500).assert_reason(BACKWARDS);
    counters((0, 0), (500, 21));
    network
        .read_after_ms(500)
        .assert_values(&[("network_received_bytes_per_s", 0.0), ("network_sent_bytes_per_s", 2.0)]);
}

#[test]
fn in_a_container_all_interfaces_are_counted() {
    let machine = Machine::new(&[]);
    machine.write("proc/self/net/dev", net_dev(&[("lo", 5, 5), ("eth0", 10, 20)]));
    let mut network = machine.open(Group::Network);
    network.read_after_ms(0).assert_reason(SECOND_READING);
    // Without a space behind the colon, as old kernels write.
    machine.write("proc/self/net/dev", "a\nb\n lo:9 0 0 0 0 0 0 0 9 0\neth0:15 0 0 0 0 0 0 0 40 0\n");
    network
        .read_after_ms(1000)
        .assert_values(&[("network_received_bytes_per_s", 5.0), ("network_sent_bytes_per_s", 20.0)]);
}

#[test]
fn a_network_that_cannot_be_read_has_a_reason() {
    let check = |files: &[(&str, &str)], reason: &str| Machine::new(files).read(Group::Network).assert_reason(reason);
    let nonsense = "a line of numbers for each interface was expected in /proc/self/net/dev, but is not there";
    check(&[], "this machine has no /proc/self/net/dev");
    check(&[("proc/self/net/dev", &net_dev(&[("lo", 5, 5)]))], "this machine has no network interface");
    check(&[("proc/self/net/dev", "a\nb\neth0: 1 2 3\n")], nonsense);
    check(&[("proc/self/net/dev", "a\nb\neth0 1 2 3 4 5 6 7 8 9\n")], nonsense);
    check(&[("proc/self/net/dev", "a\nb\neth0: -1 2 3 4 5 6 7 8 9\n")], nonsense);
}
