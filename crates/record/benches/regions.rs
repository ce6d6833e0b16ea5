//! What a region costs the thread that is in it: against two bare readings of the clock, switched off, and while the
//! disk takes nothing any more. `cargo bench -p stepscope-record`
#![allow(clippy::unwrap_used, clippy::print_stdout, unsafe_code, reason = "a program that measures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use stepscope_record::clock::{process_cpu_time, ticks};
use stepscope_record::sensors::Group;
use stepscope_record::{Scope, enter_named, leave_named, recording, switch};

fn main() {
    every_sensor();
    region_against_two_readings();
    while_the_disk_is_stalled();
}

/// A process that does nothing but watch.
fn every_sensor() {
    let groups = Group::ALL.map(|group| (group, Duration::from_millis(100)));
    let watch = stepscope_record::watch(&groups);
    let (start, used) = (Instant::now(), process_cpu_time());
    std::thread::sleep(Duration::from_secs(10));
    let share = process_cpu_time().saturating_sub(used).as_secs_f64() / start.elapsed().as_secs_f64();
    stepscope_record::unwatch(watch);
    println!("all sensors, 10 times per second {:5.2} % of a core   (at most 0.5)", 100.0 * share);
}

/// Pairs are taken side by side, since the machine is noisy; the middle of their ratios counts.
fn region_against_two_readings() {
    const BATCH: u32 = 5_000;
    const PAIRS: usize = 2_001;
    let time = |act: &mut dyn FnMut()| {
        let start = Instant::now();
        act();
        start.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    let mut bare = || {
        for _ in 0..BATCH {
            black_box(ticks());
            black_box(ticks());
        }
    };
    let name = Scope::new().name("measured");
    let mut regions = || {
        for _ in 0..BATCH {
            enter_named(name, 0);
            leave_named(name, 0, None);
        }
    };
    let mut pairs = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        pairs.push((time(&mut bare), time(&mut regions)));
        // The ring is emptied now and then; a ring that is full would look too fast.
        if pairs.len() % 2 == 0 {
            std::thread::sleep(Duration::from_millis(21));
        }
    }
    let ratio = middle(pairs.iter().map(|(bare, region)| region / bare));
    let (bare, region) = (middle(pairs.iter().map(|pair| pair.0)), middle(pairs.iter().map(|pair| pair.1)));
    switch(false);
    let off = middle((0..PAIRS).map(|_| time(&mut regions)));
    switch(true);
    let lost = recording::counts().lost_ring_full;
    println!("two readings of the clock   {bare:8.2} ns");
    println!("a region                    {region:8.2} ns   {ratio:.2} of two readings   ({lost} lost)");
    println!("a region, switched off      {off:8.2} ns");
}

/// Ten million regions while the recording goes to a pipe that nobody reads.
fn while_the_disk_is_stalled() {
    const REGIONS: u32 = 10_000_000;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let path = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    // SAFETY: the path is a C string. Opened for both, so that neither end waits for the other.
    assert!(unsafe { libc::open(path.as_ptr(), libc::O_RDWR) } >= 0);
    recording::join(&pipe, u64::MAX).unwrap();
    let name = Scope::new().name("stalled");
    // Fills the pipe, so that the drainer stands still before the count begins.
    for _ in 0..2_000_000 {
        enter_named(name, 0);
        leave_named(name, 0, None);
    }
    std::thread::sleep(Duration::from_millis(700));
    let (switches, lost) = (voluntary_switches(), recording::counts().lost_ring_full);
    let mut longest = Duration::ZERO;
    for _ in 0..REGIONS {
        let start = thread_time();
        enter_named(name, 0);
        leave_named(name, 0, None);
        longest = longest.max(thread_time().saturating_sub(start));
    }
    let switches = voluntary_switches() - switches;
    let lost = recording::counts().lost_ring_full - lost;
    println!("drainer and disk stalled    {longest:8.1?} of the thread's time at most in one call   (at most 1 ms)");
    println!("                            {switches:8} voluntary switches   (0)   {lost} of {REGIONS} dropped");
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

fn voluntary_switches() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure that it is given.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nvcsw
    }
}
