//! How much memory to use when nobody says.

use std::fs;

/// The smaller of 2 GiB and a quarter of the memory that this process may have, as far as the system tells.
#[must_use]
pub fn default_memory_limit_bytes() -> u64 {
    const MOST: u64 = 2 << 30;
    [physical_bytes(), cgroup_bytes()].into_iter().flatten().map(|bytes| bytes / 4).fold(MOST, u64::min)
}

fn physical_bytes() -> Option<u64> {
    total_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn total_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The limit of the container, in either generation of control groups.
fn cgroup_bytes() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    // A group without a limit says "max", or a number beyond any memory.
    files.iter().find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_part_of_what_there_is() {
        assert_eq!(total_in("MemTotal:       16303424 kB\nMemFree: 1 kB\n"), Some(16_303_424 * 1024));
        assert!((1 << 20..=2 << 30).contains(&default_memory_limit_bytes()));
    }
}
