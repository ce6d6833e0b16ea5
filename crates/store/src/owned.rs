//! Temporary folders that tell whether their owner lives.
//!
//! A process that is killed cannot clean up, so the next one does it. Every temporary folder holds a file that its
//! owner keeps locked. The system lets go of the lock when the owner ends, however it ends, so a folder whose lock is
//! free belongs to nobody.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::layout;

/// The file whose lock says that a folder is in use.
const LOCK_FILE: &str = "lock";

/// Age at which a folder of another machine counts as left behind even though its lock could not be trusted: some
/// network file systems keep locks to one machine.
const FOREIGN_AGE: Duration = Duration::from_hours(24);

/// Age at which a folder without a lock counts as left behind: a lock follows its folder at once.
const LOCKLESS_AGE: Duration = Duration::from_secs(10);

/// Folders of other machines that one sweep looks at: thousands of ranks may be writing to one store.
const FOREIGN_LOOKS: usize = 64;

/// Hexadecimal digits that stand for a machine in a name.
const TAG_DIGITS: usize = 8;

/// Folders that a creator tries before it gives up; a sweep can be faster than the lock of a new folder.
const ATTEMPTS: usize = 64;

/// A temporary folder that is known to be in use as long as this lives, and that goes away with it.
#[derive(Debug)]
pub struct OwnedFolder {
    // Removed first, let go of second.
    folder: TempDir,
    _lock: File,
}

impl OwnedFolder {
    /// Makes a folder with a name of its own that begins with `prefix`.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let prefix = own_prefix(prefix);
        for _ in 0..ATTEMPTS {
            let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
            match hold(folder.path()) {
                Ok(lock) if lock_file(folder.path()).exists() => return Ok(Self { folder, _lock: lock }),
                // A sweep was faster.
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "new folders are removed faster than they are created"))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        empty_up_to_lock(self.folder.path());
    }
}

/// Removes everything but the lock file: whoever is killed while removing leaves a folder that is seen to be nobody's.
fn empty_up_to_lock(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| *path != lock_file(folder)) {
        // What stays goes with the folder, or for the next sweep.
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// Removes the temporary folders in `parent` that begin with `prefix` and whose owner is gone. What cannot be removed
/// stays for the next time: nobody is waiting for this.
pub fn sweep(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let own = own_prefix(prefix);
    let found = entries.flatten().map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let (ours, foreign): (Vec<_>, Vec<_>) =
        found.filter(|(name, _)| is_ours(name, prefix)).partition(|(name, _)| name.starts_with(&own));
    let foreign = foreign.into_iter().take(FOREIGN_LOOKS).filter(|(_, path)| is_older(path, FOREIGN_AGE));
    for (_, path) in ours.into_iter().chain(foreign) {
        let claim = try_claim(&path);
        let is_left_behind = match &claim {
            // Whoever is about to lock it finds our lock, and makes another one.
            Claim::Free(_) => true,
            Claim::Held => false,
            // It is being made or being removed, unless its owner died doing so.
            Claim::NoLock => is_older(&path, LOCKLESS_AGE),
        };
        if is_left_behind {
            empty_up_to_lock(&path);
            let _ = fs::remove_dir_all(&path);
        }
        drop(claim);
    }
}

/// What the lock of a folder says.
#[derive(Debug)]
pub enum Claim {
    /// Nobody uses the folder, and nobody can begin to while this is alive.
    Free(File),
    /// Somebody uses it.
    Held,
    /// The folder has no lock file, or does not exist.
    NoLock,
}

/// Marks a folder as in use until the file that is given back is closed. Several may hold a folder.
pub fn hold(folder: &Path) -> io::Result<File> {
    let path = lock_file(folder);
    let writable = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    let file = match writable {
        // A folder that can only be read can still be held.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            File::open(&path)?
        }
        other => other?,
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        // Some network file systems have no locks. Work goes on there, and `try_claim` never finds a folder free.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Takes a folder that nobody uses.
#[must_use]
pub fn try_claim(folder: &Path) -> Claim {
    let Ok(file) = File::open(lock_file(folder)) else { return Claim::NoLock };
    match file.try_lock() {
        Ok(()) => Claim::Free(file),
        // A lock that cannot be asked for might be somebody's.
        Err(_) => Claim::Held,
    }
}

/// The file that [`hold`] locks.
#[must_use]
pub fn lock_file(folder: &Path) -> PathBuf {
    folder.join(LOCK_FILE)
}

/// Hexadecimal digits that stand for this machine in names of files: locks of other machines may not reach here.
#[must_use]
pub fn machine_tag() -> String {
    let host = fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{:0TAG_DIGITS$x}", layout::stable_hash(&host) as u32)
}

/// The beginning of the names that this machine gives.
fn own_prefix(prefix: &str) -> String {
    format!("{prefix}{}-", machine_tag())
}

/// Whether a name has the form that [`own_prefix`] gives on some machine: what merely begins alike is not ours to remove.
fn is_ours(name: &str, prefix: &str) -> bool {
    let tag = name.strip_prefix(prefix).and_then(|rest| rest.split_once('-')).map(|(tag, _)| tag);
    tag.is_some_and(|tag| tag.len() == TAG_DIGITS && tag.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_older(path: &Path, than: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    changed.and_then(|changed| SystemTime::now().duration_since(changed).ok()).is_some_and(|age| age > than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_what_nobody_holds() {
        let parent = tempfile::tempdir().unwrap();
        let live = OwnedFolder::create(parent.path(), ".tmp-").unwrap();
        let dead = parent.path().join(format!("{}dead", own_prefix(".tmp-")));
        let foreign = parent.path().join(".tmp-00000000-fresh");
        let not_ours = parent.path().join(".tmp-bench");
        let new = parent.path().join(format!("{}lockless", own_prefix(".tmp-")));
        for folder in [&dead, &foreign, &new, &not_ours] {
            fs::create_dir(folder).unwrap();
        }
        drop(hold(&dead).unwrap());
        drop(hold(&foreign).unwrap());
        sweep(parent.path(), ".tmp-");
        assert!(live.path().is_dir() && !dead.exists());
        assert!(foreign.is_dir(), "locks of another machine need not reach here");
        assert!(new.is_dir(), "it is being made");
        let long_ago = SystemTime::now() - 2 * FOREIGN_AGE;
        for folder in [&foreign, &not_ours, &new] {
            File::open(folder).unwrap().set_modified(long_ago).unwrap();
        }
        sweep(parent.path(), ".tmp-");
        assert!(!foreign.exists());
        assert!(!new.exists(), "its owner died before it could lock it");
        assert!(not_ours.is_dir(), "a name that begins alike is somebody else's");
        let path = live.path().to_owned();
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_is_claimed_when_the_last_one_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(try_claim(folder.path()), Claim::NoLock));
        let (first, second) = (hold(folder.path()).unwrap(), hold(folder.path()).unwrap());
        drop(first);
        assert!(matches!(try_claim(folder.path()), Claim::Held));
        drop(second);
        let claim = try_claim(folder.path());
        assert!(matches!(claim, Claim::Free(_)));
        assert_eq!(hold(folder.path()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn the_lock_goes_last() {
        let parent = tempfile::tempdir().unwrap();
        let folder = OwnedFolder::create(parent.path(), ".tmp-").unwrap();
        fs::create_dir(folder.path().join("spans")).unwrap();
        for name in ["spans/rows", "a", "z"] {
            fs::write(folder.path().join(name), "rows").unwrap();
        }
        empty_up_to_lock(folder.path());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [LOCK_FILE]);
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn sweeps_never_take_what_is_being_made() {
        let parent = tempfile::tempdir().unwrap();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let parent = parent.path();
            scope.spawn(move || {
                while is_done.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                    sweep(parent, ".tmp-");
                    // Sweepers are many, but none sweeps without end.
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
            // Dropped when this ends, also with a panic.
            let _done = done;
            for _ in 0..500 {
                let folder = OwnedFolder::create(parent, ".tmp-").unwrap();
                fs::write(folder.path().join("table"), "rows").unwrap();
                std::thread::yield_now();
                assert!(folder.path().join("table").exists());
            }
        });
        sweep(parent.path(), ".tmp-");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
