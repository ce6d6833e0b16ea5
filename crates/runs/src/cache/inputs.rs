//! What the user named, as the file system shows it: cheap to look at, and enough to see a change.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use stepscope_ingest::{COMMUNICATION_NAMES, FolderEntries};
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use twox_hash::XxHash3_128;

use crate::settings::Settings;

/// Everything beside the files that the result depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup(String);

impl Setup {
    pub(crate) fn of(settings: &Settings) -> Self {
        let names = XxHash3_128::oneshot(COMMUNICATION_NAMES.as_bytes());
        let runs = if settings.separate_runs { "separate_runs" } else { "one_run" };
        Self(format!("schema {SCHEMA_VERSION}, derivation {DERIVATION_VERSION}, names {names:032x}, {runs}"))
    }

    pub(crate) fn as_text(&self) -> &str {
        &self.0
    }
}

/// The files behind what the user named, in the order in which they are ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// What the user named, without links and dots.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether the folders in a folder are left out.
    pub(crate) is_flat: bool,
    pub(crate) files: Vec<InputFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// The path as an ingest calls it.
    pub(crate) shown: PathBuf,
    /// The part of the path that decides the names of runs and the numbers of ranks.
    pub(crate) name: String,
    /// The path wherever one stands.
    pub(crate) path: PathBuf,
    /// How it is known to be unchanged.
    pub(crate) stamp: Stamp,
}

/// A file that has another stamp may have changed; one that has the same has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size_bytes: u64,
    pub(crate) changed_ns: u64,
    pub(crate) inode: u64,
}

impl Inputs {
    /// Looks at every file at and below the paths. `None` if one of them is no plain file, such as a pipe: what it
    /// holds can be read once only, so there is nothing to remember.
    pub(crate) fn look(paths: &[PathBuf], is_flat: bool) -> io::Result<Option<Self>> {
        let mut inputs = Self { roots: Vec::new(), is_flat, files: Vec::new() };
        for path in paths {
            let metadata = fs::metadata(path)?;
            if metadata.is_dir() {
                let root = fs::canonicalize(path)?;
                let name = folder_name(path);
                inputs.roots.push(root.clone());
                inputs.add_folder(path, &root, &name, &mut vec![root.clone()])?;
            } else if metadata.is_file() {
                let file = fs::canonicalize(path)?;
                inputs.roots.push(file.clone());
                // Files that are named together make a run that is named after their folder.
                let own = path.file_name().unwrap_or_default().to_string_lossy();
                let parent = if paths.len() > 1 { path.parent().map(folder_name) } else { None };
                let name = parent.map_or_else(|| own.clone().into_owned(), |parent| format!("{parent}/{own}"));
                inputs.files.push(InputFile { shown: path.clone(), name, path: file, stamp: Stamp::of(&metadata) });
            } else {
                return Ok(None);
            }
        }
        Ok(Some(inputs))
    }

    /// The first file that is not as it was; also one that came or went.
    pub(crate) fn difference(&self, later: &Self) -> Option<PathBuf> {
        let longest = self.files.len().max(later.files.len());
        let place = (0..longest).find(|&place| self.files.get(place) != later.files.get(place))?;
        self.files.get(place).or(later.files.get(place)).map(|file| file.shown.clone())
    }

    /// The name of the question: the same as long as the paths are, whatever the files hold.
    pub(crate) fn question(&self, setup: &Setup) -> String {
        let mut hasher = XxHash3_128::new();
        hasher.write(setup.as_text().as_bytes());
        for file in &self.files {
            for text in [file.name.as_bytes(), file.path.as_os_str().as_encoded_bytes()] {
                hasher.write(&(text.len() as u64).to_le_bytes());
                hasher.write(text);
            }
        }
        format!("{:032x}", hasher.finish_128())
    }

    /// The name of the answer: another one as soon as a file may have changed.
    pub(crate) fn key(&self, setup: &Setup) -> String {
        let mut hasher = XxHash3_128::new();
        hasher.write(self.question(setup).as_bytes());
        for Stamp { size_bytes, changed_ns, inode } in self.files.iter().map(|file| file.stamp) {
            for number in [size_bytes, changed_ns, inode] {
                hasher.write(&number.to_le_bytes());
            }
        }
        format!("{:032x}", hasher.finish_128())
    }

    /// Adds the files of a folder as an ingest finds them.
    fn add_folder(&mut self, shown: &Path, canonical: &Path, name: &str, above: &mut Vec<PathBuf>) -> io::Result<()> {
        let entries = FolderEntries::look(shown, above)?;
        let own = |path: &Path| path.file_name().unwrap_or_default().to_owned();
        for shown in entries.files {
            let (path, name) = (canonical.join(own(&shown)), format!("{name}/{}", own(&shown).to_string_lossy()));
            // A link that leads nowhere is a file that is not there yet.
            let stamp = fs::metadata(&shown).map_or(Stamp::NOTHING, |metadata| Stamp::of(&metadata));
            self.files.push(InputFile { shown, name, path, stamp });
        }
        let is_flat = self.is_flat;
        for shown in entries.folders.into_iter().filter(|_| !is_flat) {
            let (path, name) = (canonical.join(own(&shown)), format!("{name}/{}", own(&shown).to_string_lossy()));
            above.push(fs::canonicalize(&shown)?);
            // An ingest says that a folder cannot be read, and goes on.
            let _ = self.add_folder(&shown, &path, &name, above);
            above.pop();
        }
        Ok(())
    }
}

impl Stamp {
    /// Of a file that is not there.
    const NOTHING: Self = Self { size_bytes: 0, changed_ns: 0, inode: 0 };

    fn of(metadata: &Metadata) -> Self {
        let changed = metadata.modified().ok().and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
        let changed_ns = changed.map_or(0, |since| since.as_nanos() as u64);
        Self { size_bytes: metadata.len(), changed_ns, inode: inode(metadata) }
    }
}

#[cfg(unix)]
pub(super) fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
pub(super) fn inode(_metadata: &Metadata) -> u64 {
    0
}

/// The name of a folder as an ingest calls its run.
fn folder_name(folder: &Path) -> String {
    let absolute = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}
