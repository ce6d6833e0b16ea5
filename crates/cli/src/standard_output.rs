//! Standard output as it is. The library of the language takes a closed one for a place where everything may go, so
//! that an answer that nobody gets would look like one that was written.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Says that the program was started without it.
pub(crate) fn set_closed(is_closed: bool) {
    IS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Writes something that is complete; a reader that went away is reported as such.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    open().and_then(|mut file| file.write_all(bytes)).map_err(failure)
}

/// To write to it piece by piece.
pub(crate) fn open() -> io::Result<File> {
    if IS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "standard output is closed"));
    }
    // What the library still holds comes first.
    io::stdout().flush()?;
    duplicate()
}

/// What went wrong with it.
pub(crate) fn failure(error: io::Error) -> Failure {
    let failure = Failure::unwritable(Path::new("standard output"), error);
    if failure.is_broken_pipe {
        failure
    } else {
        failure.with_hint("write to a file with `-o FILE`, or redirect with `>`")
    }
}

#[cfg(unix)]
fn duplicate() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn duplicate() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}
