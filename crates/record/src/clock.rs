//! The cheapest clock there is, and the way from its ticks to Unix time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How far ahead a correction of the slope aims, in nanoseconds; also the shortest time between two.
const CORRECT_EVERY_NS: i64 = 1_000_000_000;

/// Pieces that are kept. Older ones go: a region that has been open for hours starts a little less exactly.
const MAX_PIECES: usize = 4096;

/// Reads the clock: the processor's own counter where it runs evenly, else nanoseconds of the operating system.
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    imp::ticks()
}

/// Processor time of this process, all its threads together.
#[must_use]
#[expect(unsafe_code, reason = "asks the operating system")]
pub fn process_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    #[inline]
    #[expect(unsafe_code, reason = "the processor's counter has no safe name")]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has this instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    #[inline]
    #[expect(unsafe_code, reason = "the processor's counter has no safe name")]
    pub(super) fn ticks() -> u64 {
        let ticks;
        // SAFETY: reads the virtual counter, which user programs may.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn ticks() -> u64 {
        START.elapsed().as_nanos() as u64
    }
}

/// Ticks as Unix time. The line is made of pieces and only ever grows at its end, so that a time is always the same
/// and what was nested stays nested; each piece corrects what the one before it was wrong by.
#[derive(Debug)]
pub(crate) struct Clock {
    base: Instant,
    base_unix_ns: i64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    ticks: u64,
    unix_ns: i64,
    ns_per_tick: f64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (ticks, base) = together();
        let base_unix_ns = unix.as_nanos() as i64;
        // The slope is found out when it is first needed.
        Self { base, base_unix_ns, pieces: vec![Piece { ticks, unix_ns: base_unix_ns, ns_per_tick: 0.0 }] }
    }

    /// Looks at both clocks. Ticks up to now can then be converted.
    pub(crate) fn adjust(&mut self) {
        let (ticks, now) = together();
        let true_ns = self.base_unix_ns + now.duration_since(self.base).as_nanos() as i64;
        let Some(last) = self.pieces.last_mut() else { return };
        if last.ns_per_tick == 0.0 {
            let passed = ticks.saturating_sub(last.ticks).max(1);
            last.ns_per_tick = (true_ns - last.unix_ns).max(1) as f64 / passed as f64;
            return;
        }
        let last = *last;
        if true_ns - last.unix_ns < CORRECT_EVERY_NS {
            return;
        }
        let unix_ns = last.unix_ns_of(ticks);
        let true_slope = self.slope_to(ticks, true_ns);
        let behind = (true_ns - unix_ns) as f64 / CORRECT_EVERY_NS as f64;
        // Time never runs backwards, however wrong the line was.
        let ns_per_tick = true_slope * (1.0 + behind.clamp(-0.5, 0.5));
        if self.pieces.len() == MAX_PIECES {
            self.pieces.drain(..MAX_PIECES / 2);
        }
        self.pieces.push(Piece { ticks, unix_ns, ns_per_tick });
    }

    /// Unix time of a moment, in nanoseconds.
    pub(crate) fn unix_ns(&self, ticks: u64) -> i64 {
        let after = self.pieces.partition_point(|piece| piece.ticks <= ticks);
        self.pieces[after.saturating_sub(1)].unix_ns_of(ticks)
    }

    fn slope_to(&self, ticks: u64, true_ns: i64) -> f64 {
        let first = self.pieces[0];
        let passed = ticks.saturating_sub(first.ticks).max(1);
        (true_ns - first.unix_ns).max(1) as f64 / passed as f64
    }
}

impl Piece {
    fn unix_ns_of(self, ticks: u64) -> i64 {
        let passed = ticks.wrapping_sub(self.ticks).cast_signed() as f64;
        self.unix_ns + (passed * self.ns_per_tick) as i64
    }
}

/// Both clocks at one moment: the closest of a few readings.
fn together() -> (u64, Instant) {
    let read = || {
        let before = ticks();
        let now = Instant::now();
        let after = ticks();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), now)
    };
    let (_, ticks, now) = (0..5).map(|_| read()).min_by_key(|reading| reading.0).unwrap_or_else(read);
    (ticks, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_unix_time() {
        let mut clock = Clock::new();
        std::thread::sleep(Duration::from_millis(20));
        clock.adjust();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let off = clock.unix_ns(ticks()) - unix;
        assert!(off.abs() < 5_000_000, "{off} ns off");
    }

    #[test]
    fn a_duration_is_right_within_a_thousandth() {
        let mut clock = Clock::new();
        std::thread::sleep(Duration::from_millis(10));
        clock.adjust();
        let (start, started) = together();
        std::thread::sleep(Duration::from_millis(50));
        let (end, ended) = together();
        let (ours, theirs) = (clock.unix_ns(end) - clock.unix_ns(start), (ended - started).as_nanos() as i64);
        assert!((ours - theirs).abs() < theirs / 1000, "{ours} against {theirs}");
    }

    #[test]
    fn a_new_piece_begins_where_the_last_one_ends() {
        let mut clock = Clock::new();
        std::thread::sleep(Duration::from_millis(2));
        clock.adjust();
        let first = clock.pieces[0];
        let ticks = first.ticks + 1_000_000_000;
        let unix_ns = first.unix_ns_of(ticks);
        clock.pieces.push(Piece { ticks, unix_ns, ns_per_tick: first.ns_per_tick * 1.1 });
        assert_eq!(clock.unix_ns(ticks), unix_ns);
        assert!(clock.unix_ns(ticks - 1) <= unix_ns && clock.unix_ns(ticks + 1) >= unix_ns);
    }
}
