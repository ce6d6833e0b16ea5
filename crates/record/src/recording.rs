//! A recording: everything that is recorded also goes to a file that `stepscope` opens like any trace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::lock::Lock;
use stepscope_model::segment::SegmentRecord;

use crate::collector::{COLLECTOR, Collector, with_collector};
use crate::output::Output;
use crate::pending::Pending;
use crate::thread::{LEFT_ELSEWHERE, WITHOUT_RING};
use crate::{drainer, fork};

/// Where the recording goes. The inner lock is held while the disk writes; the outer one never for long.
pub(crate) static OUTPUT: Lock<Option<Open>> = Lock::new(None);

/// What the recording before had.
static LAST: Lock<Option<Counts>> = Lock::new(None);

#[derive(Clone)]
pub(crate) struct Open {
    output: Arc<Lock<Output>>,
    path: PathBuf,
    limit_bytes: u64,
    /// Why nothing more is written, once something went wrong.
    failed: Arc<Lock<Option<String>>>,
}

/// Why a recording could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// One is going on.
    #[error("this process is already recording to {}", .0.display())]
    GoingOn(PathBuf),
    /// The file cannot be made.
    #[error("cannot record to {}: {source}", path.display())]
    Open {
        /// What went wrong.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
}

/// What a recording has and has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regions that were recorded since the process began.
    pub regions: u64,
    /// Regions that were lost because a thread was faster than the drainer.
    pub lost_ring_full: u64,
    /// Regions that were lost because there are too many threads.
    pub lost_no_ring: u64,
    /// Regions that were left on another thread or task than they were entered on.
    pub lost_elsewhere: u64,
    /// Regions that are not in the file because it is as long as it may be, or the disk too slow.
    pub lost_no_room: u64,
    /// Bytes of the file that this process wrote.
    pub bytes_written: u64,
    /// Why nothing more is written.
    pub failed: Option<String>,
}

/// Records into a new file in a folder, which is made; gives its path.
pub fn start(folder: &Path, limit_bytes: u64) -> Result<PathBuf, RecordingError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = folder.join(format!("{}_{}.{}.stepscope", host_name(), std::process::id(), now.as_nanos()));
    std::fs::create_dir_all(folder).map_err(|source| RecordingError::Open { source, path: folder.to_owned() })?;
    join(&path, limit_bytes)?;
    Ok(path)
}

/// Records into a file that another process may be recording into.
pub fn join(path: &Path, limit_bytes: u64) -> Result<(), RecordingError> {
    fork::prepare();
    let mut place = OUTPUT.lock();
    if let Some(open) = &*place {
        return Err(RecordingError::GoingOn(open.path.clone()));
    }
    *place = Some(open(path, limit_bytes)?);
    drop(place);
    with_collector(|collector| collector.pending = Some(Pending::new(limit_bytes)));
    drainer::ensure();
    // A program that dies young leaves a file that says who it was.
    write();
    Ok(())
}

/// Writes the rest and closes the file; nothing happens if there is none.
pub fn stop() {
    with_collector(|collector| {
        collector.put_lost();
        if let Some(pending) = &mut collector.pending {
            pending.put(&SegmentRecord::End);
        }
    });
    write();
    let ended = counts();
    with_collector(|collector| collector.pending = None);
    if OUTPUT.lock().take().is_some() {
        *LAST.lock() = Some(ended);
    }
}

/// Where the recording goes.
#[must_use]
pub fn path() -> Option<PathBuf> {
    OUTPUT.lock().as_ref().map(|open| open.path.clone())
}

/// Writes all that is recorded so far.
pub fn flush() {
    with_collector(|_| ());
    write();
}

/// What was recorded so far; of the file, what the last recording had if none is going on.
#[must_use]
pub fn counts() -> Counts {
    let open = OUTPUT.lock().clone();
    with_collector(|collector| {
        let regions = collector.regions();
        let lost_ring_full = collector.lost_in_rings();
        let lost_no_ring = WITHOUT_RING.load(Ordering::Relaxed);
        let lost_elsewhere = LEFT_ELSEWHERE.load(Ordering::Relaxed);
        let file = open.map_or_else(
            || LAST.lock().clone().unwrap_or_default(),
            |open| Counts {
                lost_no_room: collector.pending.as_ref().map_or(0, |pending| pending.lost),
                bytes_written: open.output.try_lock().map_or(0, |output| output.bytes),
                failed: open.failed.lock().clone(),
                ..Counts::default()
            },
        );
        Counts { regions, lost_ring_full, lost_no_ring, lost_elsewhere, ..file }
    })
}

/// Writes what waits. The collector is free while the disk works.
pub(crate) fn write() {
    let Some(open) = OUTPUT.lock().clone() else { return };
    // Taken before the payload, so that frames come in the order in which they were filled.
    let mut output = open.output.lock();
    let payload = {
        let mut collector = COLLECTOR.lock();
        let Some(collector) = &mut *collector else { return };
        collector.put_lost();
        collector.pending.as_mut().and_then(Pending::take)
    };
    let Some(payload) = payload else { return };
    if let Err(error) = output.append(&payload) {
        *open.failed.lock() = Some(format!("cannot write {}: {error}", output.path.display()));
        if let Some(collector) = &mut *COLLECTOR.lock() {
            collector.pending = None;
        }
    }
}

/// In a process that was just forked: it appends to the same file through an opening of its own.
pub(crate) fn reopen_after_fork(place: &mut Option<Open>, collector: &mut Option<Collector>) {
    let Some(parents) = place.take() else { return };
    let reopened = open(&parents.path, parents.limit_bytes).ok();
    if let (Some(collector), Some(open)) = (collector, &reopened) {
        collector.pending = Some(Pending::new(open.limit_bytes));
    }
    *place = reopened;
    // The parent's lock may have been held when it forked.
    std::mem::forget(parents);
}

fn open(path: &Path, limit_bytes: u64) -> Result<Open, RecordingError> {
    let output = Output::open(path).map_err(|source| RecordingError::Open { source, path: path.to_owned() })?;
    Ok(Open { output: Arc::new(Lock::new(output)), path: path.to_owned(), limit_bytes, failed: Arc::default() })
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "host".to_owned() } else { name.to_owned() }
}
