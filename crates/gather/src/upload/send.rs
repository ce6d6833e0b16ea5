//! Sends one pack.

use std::fs::{OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;

use stepscope_objects::{Bucket, ObjectError, Put, Watch};
use stepscope_store::pack::{Pack, PackName};

use crate::error::GatherError;
use crate::spool::{PendingPack, PlaceFolder};

/// What became of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was uploaded, and left the spool.
    Uploaded,
    /// The place has it, and it left the spool.
    Found,
    /// Another process uploaded it.
    ByOthers,
    /// Another process is sending it.
    Busy,
}

/// What to do with a pack that another process is sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// Leave it to the other one.
    Respected,
    /// Send it, too.
    Ignored,
}

pub(super) fn send(
    bucket: &Bucket,
    folder: &PlaceFolder,
    pack: &PendingPack,
    others: Others,
    watch: Watch<'_>,
) -> Result<Sent, GatherError> {
    let path = folder.file_of(&pack.key);
    // NFS locks only what is open for writing.
    let lock = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Sent::ByOthers),
        Err(error) => return Err(GatherError::io("open a pack", &path)(error)),
    };
    // Where there are no locks, every process sends.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && others == Others::Respected {
        return Ok(Sent::Busy);
    }
    let sent = match bucket.put_parts(&pack.key, &path, watch) {
        Ok(Put::Created) => Sent::Uploaded,
        Ok(Put::Found) => Sent::Found,
        // It went away between two looks.
        Err(_) if !path.exists() => return Ok(Sent::ByOthers),
        Err(ObjectError::Taken { .. }) if is_same_recording(bucket, pack)? => Sent::Found,
        Err(error) => return Err(error.into()),
    };
    folder.remove(&pack.key)?;
    Ok(sent)
}

/// Whether the object of a pack's name is a pack of the same recording. Its size can be another one, for example if the
/// trace was read twice from different paths.
fn is_same_recording(bucket: &Bucket, pack: &PendingPack) -> Result<bool, GatherError> {
    let Some(there) = bucket.head(&pack.key)? else { return Ok(false) };
    let at = PathBuf::from(format!("{}/{}", bucket.place(), pack.key));
    let read = |range| bucket.get_range(&pack.key, range).map_err(GatherError::from);
    match Pack::read(&at, there.size_bytes, read) {
        Ok(found) => {
            let name = PackName::of(&found.record, pack.name.depth);
            Ok(name == pack.name && name.object_key(&found.record.run) == pack.key)
        }
        Err(GatherError::Store(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
