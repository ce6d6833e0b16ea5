//! Memory and processor time of the process where an outermost region begins or ends: cheap enough for the thread that
//! is there, because it is done at most once in a while.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// Ticks between two readings: about ten milliseconds.
const EVERY_TICKS: u64 = 20_000_000;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static LAST: AtomicU64 = AtomicU64::new(0);

/// `/proc/self/statm`, kept open; -1 before it is needed and after a fork, -2 if there is none.
static STATM: AtomicI32 = AtomicI32::new(-1);

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
pub(crate) fn read(ticks: u64) -> Option<Reading> {
    if !IS_WANTED.load(Ordering::Relaxed) {
        return None;
    }
    let last = LAST.load(Ordering::Relaxed);
    if ticks.wrapping_sub(last) < EVERY_TICKS
        || LAST.compare_exchange(last, ticks, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return None;
    }
    let (peak_resident_bytes, cpu_time_ns) = usage()?;
    Some(Reading { ticks, resident_bytes: resident_bytes()?, peak_resident_bytes, cpu_time_ns })
}

/// After a fork, the file that is open is the parent's.
pub(crate) fn forget_after_fork() {
    STATM.store(-1, Ordering::Relaxed);
}

/// Largest resident memory so far, and user and system time.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "asks the operating system")]
fn usage() -> Option<(u64, u64)> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure that it is given.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000).cast_unsigned();
    Some((usage.ru_maxrss.cast_unsigned() * 1024, ns(usage.ru_utime) + ns(usage.ru_stime)))
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a file that stays open is read again without a lock")]
fn resident_bytes() -> Option<u64> {
    let mut file = STATM.load(Ordering::Relaxed);
    if file == -1 {
        // SAFETY: the path is a C string.
        let opened = unsafe { libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        file = if opened < 0 { -2 } else { opened };
        STATM.store(file, Ordering::Relaxed);
    }
    if file < 0 {
        return None;
    }
    let mut text = [0_u8; 128];
    // SAFETY: the buffer is as long as it says.
    let length = unsafe { libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = std::str::from_utf8(text.get(..usize::try_from(length).ok()?)?).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: takes a number and gives one.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * page_bytes.cast_unsigned())
}

#[cfg(not(target_os = "linux"))]
fn usage() -> Option<(u64, u64)> {
    None
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> Option<u64> {
    None
}
