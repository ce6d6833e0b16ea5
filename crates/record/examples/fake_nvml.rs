//! Stands in for NVIDIA's NVML library in the tests: two GPUs that always tell the same, of which the second has no
//! energy counter. It has the functions that the sensor calls, with the C interface of NVIDIA's `nvml.h`.
#![expect(unsafe_code, reason = "a C interface writes through the pointers that it is given")]

use std::sync::atomic::{AtomicU64, Ordering};

const SUCCESS: u32 = 0;
const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const INSUFFICIENT_SIZE: u32 = 7;
const VERSION_MISMATCH: u32 = 25;

const GIB: u64 = 1 << 30;
/// A process that is not ours.
const OTHER_PROCESS: u32 = u32::MAX;

/// What a GPU tells.
struct Gpu {
    utilization_percent: u32,
    memory_total: u64,
    memory_used: u64,
    celsius: u32,
    milliwatts: u32,
    energy_millijoules: Option<AtomicU64>,
    memory_of_this_process: u64,
}

static GPUS: [Gpu; 2] = [
    Gpu {
        utilization_percent: 87,
        memory_total: 80 * GIB,
        memory_used: 10 * GIB,
        celsius: 61,
        milliwatts: 250_500,
        energy_millijoules: Some(AtomicU64::new(1_000_000)),
        memory_of_this_process: 2 * GIB,
    },
    Gpu {
        utilization_percent: 3,
        memory_total: 24 * GIB,
        memory_used: GIB,
        celsius: 40,
        milliwatts: 30_250,
        energy_millijoules: None,
        memory_of_this_process: GIB / 2,
    },
];

/// A device as the caller holds it: its index and one, as a null pointer is no device.
type Handle = usize;

#[repr(C)]
struct Utilization {
    gpu: u32,
    memory: u32,
}

#[repr(C)]
struct Memory {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
struct Process {
    pid: u32,
    used_memory: u64,
    gpu_instance: u32,
    compute_instance: u32,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(version: *mut u8, length: u32) -> u32 {
    let text = b"570.00\0";
    if (length as usize) < text.len() {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: the caller has room for `length` bytes.
    unsafe { version.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(count: *mut u32) -> u32 {
    tell(count, GPUS.len() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: u32, handle: *mut Handle) -> u32 {
    if index as usize >= GPUS.len() { INVALID_ARGUMENT } else { tell(handle, index as usize + 1) }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(handle: Handle, rates: *mut Utilization) -> u32 {
    tell(rates, Utilization { gpu: gpu(handle).utilization_percent, memory: 50 })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(handle: Handle, memory: *mut Memory) -> u32 {
    // SAFETY: the caller has filled in the version of the struct that it wants.
    let version = unsafe { (*memory).version };
    if version != size_of::<Memory>() as u32 | 2 << 24 {
        return VERSION_MISMATCH;
    }
    let gpu = gpu(handle);
    let (total, used) = (gpu.memory_total, gpu.memory_used);
    tell(memory, Memory { version, total, reserved: 0, free: total - used, used })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature(handle: Handle, _sensor: u32, celsius: *mut u32) -> u32 {
    tell(celsius, gpu(handle).celsius)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPowerUsage(handle: Handle, milliwatts: *mut u32) -> u32 {
    tell(milliwatts, gpu(handle).milliwatts)
}

/// 5 J more at each call.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTotalEnergyConsumption(handle: Handle, millijoules: *mut u64) -> u32 {
    let Some(energy) = &gpu(handle).energy_millijoules else { return NOT_SUPPORTED };
    tell(millijoules, energy.fetch_add(5_000, Ordering::Relaxed))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(handle: Handle, count: *mut u32, processes: *mut Process) -> u32 {
    let process = |pid, used_memory| Process { pid, used_memory, gpu_instance: 0, compute_instance: 0 };
    let running = [process(OTHER_PROCESS, 4 * GIB), process(std::process::id(), gpu(handle).memory_of_this_process)];
    // SAFETY: the caller says in `count` how many processes there is room for.
    let room = unsafe { *count } as usize;
    tell(count, running.len() as u32);
    if room < running.len() {
        return INSUFFICIENT_SIZE;
    }
    for (index, process) in running.into_iter().enumerate() {
        // SAFETY: there is room for all of them.
        tell(unsafe { processes.add(index) }, process);
    }
    SUCCESS
}

fn gpu(handle: Handle) -> &'static Gpu {
    &GPUS[handle - 1]
}

fn tell<T>(place: *mut T, value: T) -> u32 {
    // SAFETY: NVML is called with pointers to places for its answers.
    unsafe { place.write(value) };
    SUCCESS
}
