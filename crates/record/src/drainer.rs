//! The one thread of the recorder: empties the rings, reads the sensors, writes the segment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::collector::{COLLECTOR, Collector};
use crate::{recording, watching};

/// How often the rings are emptied. A ring of a thread that leaves 800,000 regions a second is then just not full.
const EMPTY_EVERY: Duration = Duration::from_millis(20);

/// How often what was recorded goes to the file: what a program that is killed may lose.
const WRITE_EVERY: Duration = Duration::from_millis(500);

/// Bytes that go to the file at once, however short the time.
const WRITE_BYTES: usize = 1 << 20;

static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Starts the thread if there is none.
pub(crate) fn ensure() {
    if IS_RUNNING.swap(true, Ordering::SeqCst) {
        return;
    }
    let started = thread::Builder::new().name("stepscope".to_owned()).stack_size(512 << 10).spawn(run);
    if started.is_err() {
        IS_RUNNING.store(false, Ordering::SeqCst);
    }
}

/// In a process that was just forked: the thread stayed behind.
pub(crate) fn forget_after_fork() {
    IS_RUNNING.store(false, Ordering::SeqCst);
}

fn run() {
    let mut written = Instant::now();
    loop {
        thread::sleep(EMPTY_EVERY);
        watching::read_what_is_due();
        let waiting = {
            let mut collector = COLLECTOR.lock();
            let collector = collector.get_or_insert_with(Collector::new);
            collector.drain();
            collector.pending.as_ref().map_or(0, crate::pending::Pending::len)
        };
        if waiting >= WRITE_BYTES || written.elapsed() >= WRITE_EVERY {
            recording::write();
            written = Instant::now();
        }
    }
}
