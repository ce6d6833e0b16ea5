//! Whether a place to write to is something that is read, by whatever name: a path, a link, a hard link, a file of a
//! folder or of a store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::stored::store_folder;

/// Folders in folders that are looked at; links can make a circle.
const DEEPEST: usize = 32;

/// Refuses a file to write to that is one of the inputs.
pub fn refuse_file(path: &Path, inputs: &[PathBuf]) -> Result<(), RunError> {
    match input_at(path, inputs) {
        Some(input) => Err(RunError::OutputIsInput { path: path.to_owned(), input }),
        None => Ok(()),
    }
}

/// Refuses a folder to write to that is one of the inputs, or lies in one.
pub fn refuse_folder(folder: &Path, inputs: &[PathBuf]) -> Result<(), RunError> {
    match input_around(folder, inputs) {
        Some(input) => Err(RunError::OutputIsInput { path: folder.to_owned(), input }),
        None => Ok(()),
    }
}

/// The input that a file would overwrite.
fn input_at(path: &Path, inputs: &[PathBuf]) -> Option<PathBuf> {
    inputs.iter().find(|input| is_part(path, input)).cloned()
}

/// The input that a folder is, or lies in.
fn input_around(folder: &Path, inputs: &[PathBuf]) -> Option<PathBuf> {
    let folder = nearest(folder)?;
    let is_around = |input: &&PathBuf| root(input).canonicalize().is_ok_and(|root| folder.starts_with(root));
    inputs.iter().find(is_around).cloned()
}

fn is_part(path: &Path, input: &Path) -> bool {
    // Nothing that is not there yet can be overwritten, but a store is no place for files of others.
    if store_folder(input).is_some() && input_around(path, &[input.to_owned()]).is_some() {
        return true;
    }
    // What is no file (a terminal, `/dev/null`) may be read and written at the same time.
    if !path.is_file() {
        return false;
    }
    if input.as_os_str() == "-" {
        return is_same(path, Path::new("/dev/stdin"));
    }
    if !input.is_dir() {
        return is_same(path, input);
    }
    input_around(path, &[input.to_owned()]).is_some() || is_in(path, &root(input), DEEPEST)
}

/// A store is read as a whole, also where one run of it is named.
fn root(input: &Path) -> PathBuf {
    store_folder(input).unwrap_or_else(|| input.to_owned())
}

/// Whether some file below a folder is the same by another name.
fn is_in(path: &Path, folder: &Path, depth: usize) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|entry| if entry.is_dir() { depth > 0 && is_in(path, &entry, depth - 1) } else { is_same(path, &entry) })
}

#[cfg(unix)]
fn is_same(path: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    identity(path).is_some_and(|identity_of_path| identity(other) == Some(identity_of_path))
}

#[cfg(not(unix))]
fn is_same(path: &Path, other: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| path == other))
}

/// The path without links; of what is not there yet, as far as it is there.
fn nearest(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_input_is_known_by_every_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("runs/deep")).unwrap();
        fs::write(at("trace.json"), "{}").unwrap();
        fs::write(at("runs/deep/rank0.json"), "{}").unwrap();
        fs::write(at("other.json"), "{}").unwrap();
        fs::hard_link(at("trace.json"), at("hard.json")).unwrap();
        fs::hard_link(at("runs/deep/rank0.json"), at("hard0.json")).unwrap();
        symlink("trace.json", at("link.json")).unwrap();
        symlink(at("runs"), at("runs-link")).unwrap();
        symlink(at("other.json"), at("runs/linked.json")).unwrap();
        let check = |path: &str, input: &str, want: bool| {
            assert_eq!(input_at(&at(path), &[at(input)]).is_some(), want, "{path} of {input}");
        };
        check("trace.json", "trace.json", true);
        check("./runs/../trace.json", "trace.json", true);
        check("link.json", "trace.json", true);
        check("hard.json", "trace.json", true);
        check("trace.json", "link.json", true);
        check("other.json", "trace.json", false);
        check("new.json", "trace.json", false);
        check("runs/deep/rank0.json", "runs", true);
        check("runs/deep/rank0.json", "runs-link", true);
        check("hard0.json", "runs", true);
        // A folder reads what its links lead to.
        check("other.json", "runs", true);
        check("trace.json", "runs", false);
        check("runs/new.json", "runs", false);
        let around = |folder: &str, input: &str| input_around(&at(folder), &[at(input)]).is_some();
        assert!(around("runs", "runs") && around("runs/new/parts", "runs") && around("runs-link/deep", "runs"));
        assert!(!around("new", "runs") && !around(".", "runs"));
    }
}
