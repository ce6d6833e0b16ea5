//! Files that are written for the user: never one that was read, and either whole or as they were.
//!
//! A file is written beside its place and moved there when it is complete. What cannot be moved (a pipe, a terminal,
//! `/dev/null`) is written as it is. Nothing is left behind by a failure or by Ctrl-C.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use stepscope_runs::RunError;

/// Links that lead to one another end somewhere, as the system sees it.
const LONGEST_CHAIN: usize = 40;

/// Where something will be written: looked at before the work begins, so that a wrong place is told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// As the user wrote it.
    shown: PathBuf,
    /// Without links.
    target: PathBuf,
    /// Whether it is written as it is, as nothing can be moved there.
    is_direct: bool,
}

impl Output {
    /// Looks at a place. `inputs` are what the command reads: files, folders, stores, or `-`.
    pub fn at(path: &Path, inputs: &[PathBuf]) -> Result<Self, RunError> {
        Self::refuse_file(path, inputs)?;
        let fail = |source| RunError::write(path, source);
        let (target, is_descriptor) = followed(path).map_err(fail)?;
        let there = fs::metadata(&target).ok();
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        let is_direct = is_descriptor || there.is_some_and(|there| !there.is_file());
        if !is_direct && !folder_of(&target).is_dir() {
            return Err(fail(io::Error::new(io::ErrorKind::NotFound, "the folder does not exist")));
        }
        Ok(Self { shown: path.to_owned(), target, is_direct })
    }

    /// Refuses a file to write to that is one of the inputs.
    pub fn refuse_file(path: &Path, inputs: &[PathBuf]) -> Result<(), RunError> {
        stepscope_runs::refuse_file(path, inputs)
    }

    /// The place as the user wrote it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Begins to write.
    pub fn create(&self) -> Result<OutputFile, RunError> {
        self.open().map_err(|source| RunError::write(&self.shown, source))
    }

    /// Writes something that is complete.
    pub fn write(&self, bytes: &[u8]) -> Result<(), RunError> {
        let mut file = self.create()?;
        file.write_all(bytes).map_err(|source| RunError::write(&self.shown, source))?;
        file.finish()
    }

    fn open(&self) -> io::Result<OutputFile> {
        if self.is_direct {
            // Behind what a shell has written there already.
            let file = OpenOptions::new().append(true).open(&self.target)?;
            return Ok(OutputFile { shown: self.shown.clone(), file, unfinished: None });
        }
        let kept = match fs::metadata(&self.target) {
            Ok(there) => {
                // Whoever may not write to a file may not replace it either.
                drop(OpenOptions::new().write(true).open(&self.target)?);
                Some(there)
            }
            Err(_) => None,
        };
        let unfinished = Unfinished::beside(&self.target);
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished.path)?;
        if let Some(there) = kept {
            keep_owner(&file, &there);
            file.set_permissions(there.permissions())?;
        }
        Ok(OutputFile { shown: self.shown.clone(), file, unfinished: Some(unfinished) })
    }
}

/// A file that is being written. Unless it is finished, everything stays as it was.
#[derive(Debug)]
pub struct OutputFile {
    shown: PathBuf,
    file: File,
    unfinished: Option<Unfinished>,
}

impl OutputFile {
    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), RunError> {
        self.seal()?.publish()
    }

    /// Completes the file without putting it in its place yet: for several that belong together.
    pub(crate) fn seal(self) -> Result<SealedFile, RunError> {
        if self.unfinished.is_some() {
            // Some file systems tell only now that they have no room.
            self.file.sync_all().map_err(|source| RunError::write(&self.shown, source))?;
        }
        Ok(SealedFile { shown: self.shown, unfinished: self.unfinished })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is complete and waits beside its place.
#[derive(Debug)]
pub(crate) struct SealedFile {
    shown: PathBuf,
    unfinished: Option<Unfinished>,
}

impl SealedFile {
    /// Puts the file in its place.
    pub(crate) fn publish(self) -> Result<(), RunError> {
        let Some(unfinished) = self.unfinished else { return Ok(()) };
        unfinished.finish().map_err(|source| RunError::write(&self.shown, source))
    }
}

/// Every file that is being written: a program that ends at once removes them.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is being written; for a program that ends now.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// A temporary file that becomes `target`, or goes away.
#[derive(Debug)]
struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    fn beside(target: &Path) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // A dot, so that no command takes it for a trace.
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".stepscope-{}-{count}", std::process::id()));
        let path = folder_of(target).join(name);
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Self { path, target: target.to_owned() }
    }

    fn finish(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)
    }
}

impl Drop for Unfinished {
    /// Once it is in its place there is nothing left to remove.
    fn drop(&mut self) {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = unfinished.iter().position(|path| *path == self.path) {
            unfinished.swap_remove(place);
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where a path leads, whether something is there or not; and whether on the way it names an open file of a process
/// (`/dev/stdout`), which is only reached by that name.
fn followed(path: &Path) -> io::Result<(PathBuf, bool)> {
    let mut path = path.to_owned();
    for _ in 0..LONGEST_CHAIN {
        let folder = folder_of(&path).canonicalize().unwrap_or_default();
        let is_of_process = folder.starts_with("/proc") || folder.starts_with("/dev/fd");
        if is_of_process {
            return Ok((path, true));
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => return Ok((path, false)),
        }
    }
    Err(io::Error::other("the links lead in a circle"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Only the system's administrator writes files of others; if they do, the file stays whose it was.
#[cfg(unix)]
fn keep_owner(file: &File, there: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(there.uid()), Some(there.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _there: &fs::Metadata) {}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_when_it_is_complete_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let output = Output::at(&path, &[]).unwrap();
        let mut file = output.create().unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(folder.path())), (&b"old"[..], vec!["out".to_owned()]));
        output.write(b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(folder.path())), (&b"new"[..], vec!["out".to_owned()]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (there, missing) = (folder.path().join("there"), folder.path().join("missing"));
        fs::write(&there, "old").unwrap();
        for target in [&there, &missing] {
            let link = folder.path().join("link");
            symlink(target.file_name().unwrap(), &link).unwrap();
            Output::at(&link, &[]).unwrap().write(b"new").unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read(target).unwrap(), b"new");
            fs::remove_file(link).unwrap();
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(matches!(Output::at(&circle, &[]), Err(RunError::Write { .. })));
    }

    #[test]
    fn what_cannot_be_replaced_is_written_as_it_is() {
        Output::at(Path::new("/dev/null"), &[]).unwrap().write(b"gone").unwrap();
        let error = Output::at(Path::new("/dev/full"), &[]).unwrap().write(b"too much").unwrap_err();
        assert!(matches!(error, RunError::Write { .. }), "{error:?}");
        assert!(Path::new("/dev/full").exists() && Output::at(Path::new("/dev/stdout"), &[]).unwrap().is_direct);
    }

    #[test]
    fn a_place_without_a_folder_or_with_one_is_refused_before_any_work() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("none/out")] {
            assert!(matches!(Output::at(&path, &[]), Err(RunError::Write { .. })), "{}", path.display());
        }
    }

    #[test]
    fn whoever_ends_at_once_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = Output::at(&folder.path().join("out"), &[]).unwrap().create().unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        remove_unfinished();
        assert!(names(folder.path()).is_empty());
        drop(file);
    }
}
