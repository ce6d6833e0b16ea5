//! Memory and processor time of the process where an outermost region begins or ends: cheap enough for the thread that
//! is there, because it is done at most once in a while.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use crate::clock::process_cpu_time;

/// Ticks between two readings: some fifty milliseconds. One takes as long as a hundred regions.
const EVERY_TICKS: u64 = 100_000_000;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static LAST: AtomicU64 = AtomicU64::new(0);

/// `/proc/self/status`, kept open; -1 before it is needed and after a fork, -2 if there is none.
static STATUS: AtomicI32 = AtomicI32::new(-1);

/// What was read.
pub(crate) struct Reading {
    pub ticks: u64,
    pub resident_bytes: u64,
    pub peak_resident_bytes: u64,
    pub cpu_time_ns: u64,
}

/// From now on, outermost regions are measured at both ends.
pub fn measure_boundaries() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Reads, if it is wanted and the last time is long enough ago.
#[inline]
pub(crate) fn read(ticks: u64) -> Option<Reading> {
    let last = LAST.load(Ordering::Relaxed);
    if !IS_WANTED.load(Ordering::Relaxed) || ticks.wrapping_sub(last) < EVERY_TICKS {
        return None;
    }
    read_since(last, ticks)
}

#[cold]
fn read_since(last: u64, ticks: u64) -> Option<Reading> {
    // Of several threads that come at once, one reads.
    LAST.compare_exchange(last, ticks, Ordering::Relaxed, Ordering::Relaxed).ok()?;
    let (resident_bytes, peak_resident_bytes) = resident()?;
    let cpu_time_ns = process_cpu_time().as_nanos() as u64;
    Some(Reading { ticks, resident_bytes, peak_resident_bytes, cpu_time_ns })
}

/// After a fork, the file that is open is the parent's.
pub(crate) fn forget_after_fork() {
    STATUS.store(-1, Ordering::Relaxed);
}

/// Resident memory, now and at its largest. The status of a process is the only place that tells the latter of this
/// process alone: what `getrusage` says may be that of the program that started it.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a file that stays open is read again without a lock")]
fn resident() -> Option<(u64, u64)> {
    let mut file = STATUS.load(Ordering::Relaxed);
    if file == -1 {
        // SAFETY: the path is a C string.
        let opened = unsafe { libc::open(c"/proc/self/status".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        file = if opened < 0 { -2 } else { opened };
        STATUS.store(file, Ordering::Relaxed);
    }
    if file < 0 {
        return None;
    }
    let mut text = [0_u8; 2048];
    // SAFETY: the buffer is as long as it says.
    let length = unsafe { libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    Some((kilobytes(text, b"\nVmRSS:")?, kilobytes(text, b"\nVmHWM:")?))
}

/// The number behind a key, in bytes.
#[cfg(target_os = "linux")]
fn kilobytes(text: &[u8], key: &[u8]) -> Option<u64> {
    let at = text.windows(key.len()).position(|window| window == key)? + key.len();
    let line = text[at..].split(|&byte| byte == b'\n').next()?;
    let digits = std::str::from_utf8(line).ok()?.trim().trim_end_matches(" kB");
    digits.parse::<u64>().ok().map(|number| number * 1024)
}

#[cfg(not(target_os = "linux"))]
fn resident() -> Option<(u64, u64)> {
    None
}
