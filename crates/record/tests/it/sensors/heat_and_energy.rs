//! Temperature and energy of the CPU.

use stepscope_record::sensors::Group;

use super::Machine;

#[track_caller]
fn check_temperature(files: &[(&str, &str)], expected: Result<f64, &str>) {
    let readings = Machine::new(files).read(Group::Temperature);
    match expected {
        Ok(celsius) => readings.assert_values(&[("cpu_temperature_celsius", celsius)]),
        Err(reason) => readings.assert_reason(reason),
    }
}

#[test]
fn temperature_is_of_the_hottest_cpu() {
    let nvme = [("sys/class/hwmon/hwmon0/name", "nvme\n"), ("sys/class/hwmon/hwmon0/temp1_input", "99000\n")];
    // Two Intel CPUs: the packages count, not the cores, and not the disk.
    let intel = [
        ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", "51000\n"),
        ("sys/class/hwmon/hwmon1/temp2_label", "Core 0\n"),
        ("sys/class/hwmon/hwmon1/temp2_input", "77000\n"),
        ("sys/class/hwmon/hwmon2/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon2/temp1_label", "Package id 1\n"),
        ("sys/class/hwmon/hwmon2/temp1_input", "63500\n"),
    ];
    check_temperature(&[&nvme[..], &intel[..]].concat(), Ok(63.5));
    // An Intel CPU without a sensor of the package: the hottest core.
    let cores = [
        ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon1/temp2_label", "Core 0\n"),
        ("sys/class/hwmon/hwmon1/temp2_input", "41000\n"),
        ("sys/class/hwmon/hwmon1/temp3_label", "Core 1\n"),
        ("sys/class/hwmon/hwmon1/temp3_input", "43000\n"),
        ("sys/class/hwmon/hwmon1/temp3_crit", "100000\n"),
    ];
    check_temperature(&cores, Ok(43.0));
    // AMD: the die rather than the number for the fan.
    let amd = [
        ("sys/class/hwmon/hwmon0/name", "k10temp\n"),
        ("sys/class/hwmon/hwmon0/temp1_label", "Tctl\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", "80000\n"),
        ("sys/class/hwmon/hwmon0/temp2_label", "Tdie\n"),
        ("sys/class/hwmon/hwmon0/temp2_input", "53125\n"),
    ];
    check_temperature(&amd, Ok(53.125));
    check_temperature(&amd[..3], Ok(80.0));
    // ARM: a thermal zone, below zero in winter.
    let zones = [
        ("sys/class/thermal/thermal_zone0/type", "battery\n"),
        ("sys/class/thermal/thermal_zone0/temp", "90000\n"),
        ("sys/class/thermal/thermal_zone1/type", "CPU-thermal\n"),
        ("sys/class/thermal/thermal_zone1/temp", "-3000\n"),
        ("sys/class/thermal/thermal_zone2/type", "soc_thermal\n"),
        ("sys/class/thermal/thermal_zone2/temp", "70000\n"),
    ];
    check_temperature(&zones, Ok(-3.0));
    check_temperature(&[&nvme[..], &zones[..]].concat(), Ok(-3.0));
}

#[test]
fn a_temperature_that_cannot_be_read_has_a_reason() {
    let none = "this machine has no temperature sensor of the CPU";
    check_temperature(&[], Err(none));
    check_temperature(&[("sys/class/thermal/thermal_zone0/type", "battery\n")], Err(none));
    let sensor =
        |celsius| [("sys/class/hwmon/hwmon0/name", "k10temp"), ("sys/class/hwmon/hwmon0/temp1_input", celsius)];
    let path = "/sys/class/hwmon/hwmon0/temp1_input";
    check_temperature(&sensor("hot"), Err(&format!("a number was expected in {path}, but is not there")));
    let impossible = format!("a possible temperature was expected in {path}, but is not there");
    check_temperature(&sensor("-128000"), Err(&impossible));
    check_temperature(&sensor("40000000"), Err(&impossible));
    // One of two fails.
    let other = [("sys/class/hwmon/hwmon1/name", "k10temp"), ("sys/class/hwmon/hwmon1/temp1_input", "40000")];
    check_temperature(&[&sensor("-128000")[..], &other[..]].concat(), Ok(40.0));
    check_temperature(&[&sensor("50000")[..], &other[..]].concat(), Ok(50.0));
}

/// A folder of /sys/class/powercap whose counter goes to 100 kJ.
fn domain<'a>(paths: &'a [String; 3], name: &'a str, energy_uj: &'a str) -> [(&'a str, &'a str); 3] {
    [(&paths[0], name), (&paths[1], energy_uj), (&paths[2], "100000000000\n")]
}

fn paths(folder: &str) -> [String; 3] {
    ["name", "energy_uj", "max_energy_range_uj"].map(|file| format!("sys/class/powercap/{folder}/{file}"))
}

#[test]
fn energy_is_the_sum_of_packages() {
    let folders = [
        paths("intel-rapl:0"),
        paths("intel-rapl:1"),
        paths("intel-rapl:0:0"),
        paths("intel-rapl:2"),
        paths("intel-rapl-mmio:0"),
    ];
    let files = [
        domain(&folders[0], "package-0\n", "5000000\n"),
        domain(&folders[1], "package-1\n", "99999000000\n"),
        // A part of a package, the whole machine, and a second way to a package.
        domain(&folders[2], "core\n", "0\n"),
        domain(&folders[3], "psys\n", "0\n"),
        domain(&folders[4], "package-0\n", "0\n"),
    ];
    let machine = Machine::new(&files.concat());
    let mut energy = machine.open(Group::Energy);
    energy.read_after_ms(0).assert_values(&[("cpu_energy_joules", 0.0)]);
    for uncounted in &folders[2..] {
        machine.write(&uncounted[1], "7000000\n");
    }
    machine.write(&folders[0][1], "7500000\n");
    energy.read_after_ms(100).assert_values(&[("cpu_energy_joules", 2.5)]);
    // The second package goes round: 1 J to the end, and 3 J behind it.
    machine.write(&folders[1][1], "3000000\n");
    energy.read_after_ms(100).assert_values(&[("cpu_energy_joules", 6.5)]);
    // A reading that fails costs nothing, as the counter goes on.
    machine.write(&folders[1][1], "nonsense\n");
    let reason = "a number was expected in /sys/class/powercap/intel-rapl:1/energy_uj, but is not there";
    energy.read_after_ms(100).assert_reason(reason);
    machine.write(&folders[1][1], "4000000\n");
    energy.read_after_ms(100).assert_values(&[("cpu_energy_joules", 7.5)]);
    // 100 kJ take a package 100 s at 1,000 W: after more than that nobody knows how often it went round.
    let reason = "the energy counter may have wrapped around unseen; read it at least every 100 s";
    energy.read_after_ms(101_000).assert_reason(reason);
    energy.read_after_ms(100).assert_reason(reason);
}

#[test]
fn energy_that_cannot_be_read_has_a_reason() {
    let check = |files: &[(&str, &str)], reason: &str| Machine::new(files).read(Group::Energy).assert_reason(reason);
    check(&[], "this machine reports no energy of CPU packages in /sys/class/powercap");
    let name = ("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    check(&[name], "this machine has no /sys/class/powercap/intel-rapl:0/energy_uj");
    let energy = ("sys/class/powercap/intel-rapl:0/energy_uj", "1000\n");
    check(&[name, energy], "this machine has no /sys/class/powercap/intel-rapl:0/max_energy_range_uj");
    let folder = ("sys/class/powercap/intel-rapl:0/energy_uj/inside", "");
    check(&[name, folder], "could not read /sys/class/powercap/intel-rapl:0/energy_uj: Is a directory (os error 21)");
}

#[test]
fn an_energy_counter_above_its_range_is_not_believed() {
    let paths = paths("intel-rapl:0");
    let machine = Machine::new(&domain(&paths, "package-0", "200000000000"));
    let mut energy = machine.open(Group::Energy);
    energy.read_after_ms(0).assert_values(&[("cpu_energy_joules", 0.0)]);
    machine.write(&paths[1], "5");
    let reason = "a number below that of max_energy_range_uj was expected in \
                  /sys/class/powercap/intel-rapl:0/energy_uj, but is not there";
    energy.read_after_ms(100).assert_reason(reason);
}
