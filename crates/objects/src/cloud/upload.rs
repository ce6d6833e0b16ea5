//! Uploads in parts.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{Error, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::task::JoinSet;

use super::{Attempts, Patience};

/// Above this size an object is uploaded in parts.
pub(crate) const IN_PARTS_ABOVE: u64 = 64 << 20;

/// Size of a part but the last.
const PART_BYTES: u64 = 16 << 20;

/// Parts on their way at once: what they hold in memory is this many times their size.
const PARTS_AT_ONCE: usize = 2;

/// Why an upload failed.
#[derive(Debug)]
pub(crate) enum Failure {
    File(io::Error),
    Store(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Uploads a file in parts. It exists with its last request or not at all; parts of an upload that failed are removed.
pub(crate) async fn in_parts(
    store: Arc<dyn ObjectStore>,
    path: ObjectPath,
    file: File,
    size: u64,
    done: Arc<AtomicU64>,
    patience: Patience,
) -> Result<(), Failure> {
    let file = Arc::new(file);
    let mut attempts = Attempts::new(patience);
    loop {
        done.store(0, Ordering::Relaxed);
        let mut upload = store.put_multipart(&path).await?;
        let outcome = send(&mut *upload, &file, size, &done).await;
        let Err(failure) = outcome else { return Ok(()) };
        // The answer to the last request may have been lost after the object was made.
        if let Failure::Store(_) = &failure
            && store.head(&path).await.is_ok_and(|meta| meta.size == size)
        {
            return Ok(());
        }
        // Best effort: a bucket should expire parts by a rule of its own anyway.
        let _ = upload.abort().await;
        if is_final(&failure) || !attempts.pause().await {
            return Err(failure);
        }
    }
}

async fn send(
    upload: &mut dyn MultipartUpload,
    file: &Arc<File>,
    size: u64,
    done: &Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut parts: JoinSet<Result<(), Error>> = JoinSet::new();
    let mut from = 0;
    while from < size {
        let range = from..size.min(from + PART_BYTES);
        let length = range.end - range.start;
        from = range.end;
        if parts.len() >= PARTS_AT_ONCE {
            joined(&mut parts).await?;
        }
        let file = Arc::clone(file);
        let bytes = tokio::task::spawn_blocking(move || read_at(&file, range)).await;
        let bytes = bytes.map_err(|error| Failure::File(error.into()))?.map_err(Failure::File)?;
        let (part, done) = (upload.put_part(PutPayload::from(bytes)), Arc::clone(done));
        parts.spawn(async move {
            part.await?;
            done.fetch_add(length, Ordering::Relaxed);
            Ok(())
        });
    }
    while !parts.is_empty() {
        joined(&mut parts).await?;
    }
    upload.complete().await?;
    Ok(())
}

async fn joined(parts: &mut JoinSet<Result<(), Error>>) -> Result<(), Failure> {
    match parts.join_next().await {
        Some(Ok(outcome)) => Ok(outcome?),
        Some(Err(source)) => Err(Error::JoinError { source }.into()),
        None => Ok(()),
    }
}

/// Whether trying again would fail alike.
fn is_final(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::File(_)
            | Failure::Store(
                Error::PermissionDenied { .. } | Error::Unauthenticated { .. } | Error::NotImplemented { .. }
            )
    )
}

/// Reads a range of a file that is shared by several readers.
pub(crate) fn read_at(file: &File, range: Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    read_exact_at(file, &mut bytes, range.start)?;
    Ok(bytes.into())
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[read..], offset + read as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => read += count,
        }
    }
    Ok(())
}
