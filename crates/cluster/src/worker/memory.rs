//! What queries may hold on a worker: memory, and files that they spill to.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use object_store::ObjectStore;

use super::WorkerOptions;
use super::only_store::OnlyStore;

/// How many parts of a query an out-of-memory message names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Footers of files that are kept.
const FOOTER_BYTES: usize = 64 << 20;

/// Percent of the memory of the machine or container that queries may take.
const SHARE_PERCENT: u64 = 70;

/// One pool, one folder and one store for all queries of a worker.
pub(crate) fn environment(
    options: &WorkerOptions,
    objects: Arc<dyn ObjectStore>,
) -> Result<Arc<RuntimeEnv>, DataFusionError> {
    let bytes = options.memory_limit_bytes.unwrap_or_else(|| (available_bytes() / 100 * SHARE_PERCENT) as usize);
    let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED_CONSUMERS);
    let mode = match &options.spill_dir {
        Some(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
        None => DiskManagerMode::OsTmpDirectory,
    };
    let disk = DiskManagerBuilder::default().with_mode(mode).with_max_temp_directory_size(options.spill_limit_bytes);
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(Arc::new(OnlyStore::new(objects)))
        .with_metadata_cache_limit(FOOTER_BYTES.min(bytes / 8))
        .build_arc()
}

/// The memory of the container, else of the machine.
fn available_bytes() -> u64 {
    let container = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .find_map(|file| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_bytes(&text)).unwrap_or(4 << 30);
    container.map_or(machine, |limit| limit.min(machine))
}

/// The total in the file of the kernel.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_in_kibibytes() {
        assert_eq!(total_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total_bytes("MemFree: 1 kB\n"), None);
        assert!(available_bytes() > 0);
    }
}
