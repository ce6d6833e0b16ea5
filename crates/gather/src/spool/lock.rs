//! Locks between the processes of one machine. The system lets go of them when their owner ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::Duration;

use stepscope_store::{disk, owned};

use crate::error::GatherError;

/// Time between two looks at a lock.
const LOOK_EACH: Duration = Duration::from_millis(50);

/// The right to do the heavy work of this machine, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

pub(super) fn turn(root: &Path, watch: &dyn Fn() -> ControlFlow<()>) -> Result<Turn, GatherError> {
    loop {
        if let Some(lock) = try_lock(root, "turn")? {
            return Ok(Turn { _lock: lock });
        }
        if watch().is_break() {
            return Err(GatherError::Canceled { path: root.to_owned() });
        }
        thread::sleep(LOOK_EACH);
    }
}

/// Takes a lock of this machine; `None` if another process has it. Home folders are often shared by many machines, which
/// must not wait for each other.
pub(crate) fn try_lock(root: &Path, name: &str) -> Result<Option<File>, GatherError> {
    disk::create_folders(root)?;
    let path = root.join(format!("{name}.{}", owned::machine_tag()));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(GatherError::io("create a file", &path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // Some network file systems have no locks. Work goes on there, in several processes at once.
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
            Err(GatherError::io("lock a file", &path)(error))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}
