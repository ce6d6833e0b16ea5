//! What a thread does when it enters and leaves a region: nothing that waits, and no system call.
//!
//! Each thread has a ring of its own, which it alone fills and one drainer empties. A ring that is full drops the
//! region and counts it.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::lock::Lock;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::clock::ticks;
use crate::names::NameId;
use crate::open_regions::{OpenRegions, OpenTasks};
use crate::{boundary, drainer, fork, losses};

/// Regions that a thread can leave before the drainer comes by; 24 bytes each.
const RING_SLOTS: usize = 1 << 14;

/// Threads that can record at once. Together with the slots, this is the memory that the recorder may take.
const MAX_RINGS: usize = 120;

/// Whether regions are recorded.
static IS_ON: AtomicBool = AtomicBool::new(true);

/// Regions of threads that have no ring.
pub(crate) static WITHOUT_RING: AtomicU64 = AtomicU64::new(0);

/// Regions that were left on another thread or task than they were entered on.
pub(crate) static LEFT_ELSEWHERE: AtomicU64 = AtomicU64::new(0);

/// Rings that the drainer has not seen yet, and how many there are in all.
pub(crate) static NEW_RINGS: Lock<Vec<Ring>> = Lock::new(Vec::new());
pub(crate) static RING_COUNT: AtomicU64 = AtomicU64::new(0);

/// A region that was left, or something else that a thread has to say (`name` tells which).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub start: u64,
    pub dur: u64,
    pub name: NameId,
    /// 0 for the thread itself, else the asynchronous task.
    pub task: u16,
    /// Regions that are open around it.
    pub depth: u16,
}

/// `dur` holds the samples of the region that was left just before.
pub(crate) const SAMPLES: NameId = NameId(u32::MAX);
/// `dur` holds the resident memory of the process in bytes.
pub(crate) const RESIDENT: NameId = NameId(u32::MAX - 1);
/// `dur` holds the largest resident memory of the process so far in bytes.
pub(crate) const PEAK_RESIDENT: NameId = NameId(u32::MAX - 2);
/// `dur` holds the processor time of the process in nanoseconds.
pub(crate) const CPU_TIME: NameId = NameId(u32::MAX - 3);

/// The drainer's end of a ring.
pub(crate) struct Ring {
    pub events: Consumer<Event>,
    pub lost: Arc<AtomicU64>,
    pub thread_id: u64,
    pub thread_name: Arc<Lock<String>>,
}

struct Thread {
    events: Producer<Event>,
    lost: Arc<AtomicU64>,
    name: Arc<Lock<String>>,
    /// Before its first region.
    is_new: bool,
    /// Regions open on the thread itself, of any kind.
    depth: u16,
    open: OpenRegions,
    tasks: OpenTasks,
}

thread_local! {
    /// The thread's own; null before its first region. Not the owner, so that looking at it costs nothing.
    static CURRENT: Cell<*mut Thread> = const { Cell::new(ptr::null_mut()) };
    static OWNER: RefCell<Option<Owner>> = const { RefCell::new(None) };
    /// Regions that were open here when the process was forked. They are the parent's, and no loss when they are left.
    static PARENTS: Cell<usize> = const { Cell::new(0) };
}

/// Frees what a thread has when the thread ends.
struct Owner(*mut Thread);

impl Drop for Owner {
    #[expect(unsafe_code, reason = "the thread's own record is a raw pointer, so that reading it costs nothing")]
    fn drop(&mut self) {
        CURRENT.set(ptr::null_mut());
        // SAFETY: made by `Box::into_raw` in `register`, which gave it to this owner alone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Whether regions are recorded at all.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Switches the recording of regions off or on, for the whole process.
pub fn switch(on: bool) {
    IS_ON.store(on, Ordering::Relaxed);
}

/// Enters a region on the thread, or on the asynchronous task `task` if that is not 0. The start is kept here, so one
/// region can be entered again before it is left. Gives whether it is the first one of the thread.
#[inline]
#[expect(clippy::must_use_candidate, reason = "whose first region it is matters to few")]
pub fn enter_named(name: NameId, task: usize) -> bool {
    if !is_on() {
        return false;
    }
    let mut is_first = false;
    with_thread(|thread| {
        is_first = std::mem::take(&mut thread.is_new);
        if task != 0 {
            thread.tasks.enter(task, name, ticks());
            return;
        }
        let mut start = ticks();
        // Reading the clock is most of what a region costs, so it is done again only when something took time.
        if thread.depth == 0 && thread.read_boundary(start) {
            start = ticks();
        }
        thread.depth = if thread.open.enter(name, start) { thread.depth.saturating_add(1) } else { 0 };
    });
    is_first
}

/// Leaves a region that `enter_named` entered; `samples` is how many the program worked on in it.
#[inline]
pub fn leave_named(name: NameId, task: usize, samples: Option<u64>) {
    let end = ticks();
    let has_ring = with_thread(|thread| {
        let left =
            if task == 0 { thread.open.leave(name).map(|left| (0, left)) } else { thread.tasks.leave(task, name) };
        let Some((task, left)) = left else { return note_left_elsewhere(name) };
        let depth = if task == 0 {
            thread.depth = thread.depth.saturating_sub(1);
            thread.depth.saturating_sub((thread.open.len() - left.around) as u16)
        } else {
            left.around as u16
        };
        let start = left.start;
        thread.push(Event { start, dur: end.saturating_sub(start), name, task, depth });
        if let Some(samples) = samples {
            thread.push(Event { start, dur: samples, name: SAMPLES, task, depth });
        }
        if depth == 0 {
            thread.read_boundary(end);
        }
    });
    if !has_ring {
        note_without_ring(name);
    }
}

#[cold]
fn note_without_ring(name: NameId) {
    WITHOUT_RING.fetch_add(1, Ordering::Relaxed);
    losses::note(name);
}

#[cold]
fn note_left_elsewhere(name: NameId) {
    match PARENTS.get() {
        _ if !is_on() => {}
        0 => {
            LEFT_ELSEWHERE.fetch_add(1, Ordering::Relaxed);
            losses::note(name);
        }
        open => PARENTS.set(open - 1),
    }
}

/// Whether a region of an asynchronous task is open on the current thread.
#[inline]
#[must_use]
pub fn has_open_tasks() -> bool {
    let mut has = false;
    if !CURRENT.get().is_null() {
        with_thread(|thread| has = !thread.tasks.is_empty());
    }
    has
}

/// Says what the current thread is called, for the timeline.
pub fn name_thread(name: &str) {
    with_thread(|thread| name.clone_into(&mut thread.name.lock()));
}

impl Thread {
    #[inline]
    fn push(&mut self, event: Event) {
        if self.events.push(event).is_err() && event.name.0 < CPU_TIME.0 {
            self.lose(event.name);
        }
    }

    /// One thread alone writes its count, so no more than a store is needed.
    #[cold]
    fn lose(&self, name: NameId) {
        self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        losses::note(name);
    }

    /// Memory and processor time where outermost regions begin and end, now and then; gives whether it was now.
    #[inline]
    fn read_boundary(&mut self, now: u64) -> bool {
        let Some(reading) = boundary::read(now) else { return false };
        let start = reading.ticks;
        for (name, dur) in [
            (RESIDENT, reading.resident_bytes),
            (PEAK_RESIDENT, reading.peak_resident_bytes),
            (CPU_TIME, reading.cpu_time_ns),
        ] {
            self.push(Event { start, dur, name, task: 0, depth: 0 });
        }
        true
    }
}

/// Does something with the record of the current thread; `false` if it can have none.
#[inline]
#[expect(unsafe_code, reason = "the thread's own record is a raw pointer, so that reading it costs nothing")]
fn with_thread(act: impl FnOnce(&mut Thread)) -> bool {
    let mut thread = CURRENT.get();
    if thread.is_null() {
        thread = register();
        if thread.is_null() {
            return false;
        }
    }
    // SAFETY: only this thread has the pointer, `act` never comes back here, and the owner clears it when it frees.
    act(unsafe { &mut *thread });
    true
}

/// Makes the ring of a thread; null when there are too many, or the thread is ending.
#[cold]
fn register() -> *mut Thread {
    if RING_COUNT.fetch_add(1, Ordering::Relaxed) >= MAX_RINGS as u64 {
        RING_COUNT.fetch_sub(1, Ordering::Relaxed);
        return ptr::null_mut();
    }
    fork::prepare();
    let (producer, events) = RingBuffer::new(RING_SLOTS);
    let lost = Arc::new(AtomicU64::new(0));
    let name = Arc::new(Lock::new(std::thread::current().name().unwrap_or_default().to_owned()));
    let thread = Box::into_raw(Box::new(Thread {
        events: producer,
        lost: Arc::clone(&lost),
        name: Arc::clone(&name),
        is_new: true,
        depth: 0,
        open: OpenRegions::with_room(),
        tasks: OpenTasks::default(),
    }));
    let owner = Owner(thread);
    if OWNER.try_with(|place| *place.borrow_mut() = Some(owner)).is_err() {
        return ptr::null_mut();
    }
    NEW_RINGS.lock().push(Ring { events, lost, thread_id: thread_id(), thread_name: name });
    CURRENT.set(thread);
    drainer::ensure();
    thread
}

/// In a process that was just forked: the ring belongs to the parent's drainer, so this thread forgets it.
#[expect(unsafe_code, reason = "the thread's own record is a raw pointer, so that reading it costs nothing")]
pub(crate) fn forget_after_fork() {
    let thread = CURRENT.replace(ptr::null_mut());
    if !thread.is_null() {
        // SAFETY: only this thread has the pointer, and it is never freed: what was open stays open in the parent alone.
        PARENTS.set(PARENTS.get() + unsafe { &*thread }.open.len());
        OWNER.with(|place| std::mem::forget(place.borrow_mut().take()));
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the number of a thread comes from the operating system")]
fn thread_id() -> u64 {
    // SAFETY: takes nothing and always succeeds.
    u64::from(unsafe { libc::gettid() }.cast_unsigned())
}

#[cfg(not(target_os = "linux"))]
fn thread_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
