//! What the header of a trace says: the devices, the ranks, the beginning of time.

use stepscope_formats::JsonValue;

use crate::collective::PROCESS_GROUP;
use crate::device;
use crate::job::Job;
use crate::run::BASE_TIME_NS;

/// The members of the header.
pub(super) fn entries<'a>(devices: &'a str, distributed: &'a str) -> [(&'static str, JsonValue<'a>); 9] {
    [
        ("schemaVersion", JsonValue::Int(1)),
        ("deviceProperties", JsonValue::Json(devices)),
        ("cuda_runtime_version", JsonValue::Int(12_040)),
        ("distributedInfo", JsonValue::Json(distributed)),
        ("record_shapes", JsonValue::Int(1)),
        ("profile_memory", JsonValue::Int(1)),
        ("with_stack", JsonValue::Int(1)),
        ("displayTimeUnit", JsonValue::Text("ms")),
        ("baseTimeNanoseconds", JsonValue::Int(BASE_TIME_NS)),
    ]
}

/// So many GPUs of one host.
pub(crate) fn device_properties(count: u32) -> String {
    let device = |id: u32| {
        format!(
            "{{\"id\": {id}, \"name\": \"{}\", \"totalGlobalMem\": {}, \"computeMajor\": {}, \
             \"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, \
             \"regsPerBlock\": 65536, \"warpSize\": 32, \"sharedMemPerBlock\": 49152, \"numSms\": {}, \
             \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 166912, \
             \"sharedMemPerMultiprocessor\": 167936}}",
            device::NAME,
            device::MEMORY_BYTES,
            device::COMPUTE_MAJOR,
            device::MULTIPROCESSORS,
        )
    };
    let devices: Vec<String> = (0..count).map(device).collect();
    format!("[{}]", devices.join(", "))
}

/// The rank and its process group.
pub(super) fn distributed_info(job: &Job, rank: u32) -> String {
    let ranks: Vec<String> = (0..job.ranks).map(|rank| rank.to_string()).collect();
    format!(
        "{{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {size}, \"pg_count\": 1, \"pg_config\": \
         [{{\"pg_name\": \"{PROCESS_GROUP}\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": {size}, \
         \"ranks\": [{}]}}], \"nccl_version\": \"2.21.5\"}}",
        ranks.join(", "),
        size = job.ranks,
    )
}
