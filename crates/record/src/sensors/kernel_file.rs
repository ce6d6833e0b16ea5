//! Files in which the kernel tells figures. They stay open, as opening costs more than reading.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::NotMeasured;

/// An open file of `/proc` or `/sys`, read anew from its beginning each time.
pub(super) struct KernelFile {
    path: PathBuf,
    file: Result<File, NotMeasured>,
    buffer: Vec<u8>,
}

impl KernelFile {
    /// Opens a file. If that fails, each reading says why.
    pub(super) fn open(path: PathBuf) -> Self {
        let file = File::open(&path).map_err(|error| not_readable(&path, &error));
        Self { path, file, buffer: vec![0; 4096] }
    }

    /// All of its text.
    pub(super) fn text(&mut self) -> Result<&str, NotMeasured> {
        let file = self.file.as_ref().map_err(NotMeasured::clone)?;
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let read = file.read_at(&mut self.buffer[filled..], filled as u64);
            match read.map_err(|error| not_readable(&self.path, &error))? {
                0 => break,
                more => filled += more,
            }
        }
        self.as_text(filled)
    }

    /// The first line of a file whose other lines are of no interest, if it is no longer than a page.
    pub(super) fn first_line(&mut self) -> Result<&str, NotMeasured> {
        let file = self.file.as_ref().map_err(NotMeasured::clone)?;
        let filled = file.read_at(&mut self.buffer, 0).map_err(|error| not_readable(&self.path, &error))?;
        let end = self.buffer[..filled].iter().position(|byte| *byte == b'\n').unwrap_or(filled);
        self.as_text(end)
    }

    /// The number that is all of the file.
    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T, NotMeasured> {
        let number = self.first_line()?.trim().parse();
        number.map_err(|_| self.lacks("a number"))
    }

    /// Why a figure that should be in this file is not measured.
    pub(super) fn lacks(&self, what: &str) -> NotMeasured {
        NotMeasured::new(format!("{what} was expected in {}, but is not there", self.path.display()))
    }

    fn as_text(&self, length: usize) -> Result<&str, NotMeasured> {
        std::str::from_utf8(&self.buffer[..length]).map_err(|_| self.lacks("text"))
    }
}

/// The number behind a word at the beginning of a line, as `MemTotal:` has.
pub(super) fn number_behind(word: &str, text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(word)?.strip_prefix([' ', '\t'])?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// What is in a folder, sorted; nothing if there is no such folder.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Why nothing is measured where Linux tells no such figure. Other systems have none of these files.
pub(super) fn not_there(reason: impl Into<String>) -> NotMeasured {
    if cfg!(target_os = "linux") {
        NotMeasured::new(reason)
    } else {
        NotMeasured::new("this is only measured on Linux")
    }
}

fn not_readable(path: &Path, error: &io::Error) -> NotMeasured {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => not_there(format!("this machine has no {path}")),
        io::ErrorKind::PermissionDenied => {
            NotMeasured::new(format!("permission denied: {path} is readable by root only"))
        }
        _ => NotMeasured::new(format!("could not read {path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Path, PathBuf};

    use super::{KernelFile, not_readable, number_behind};

    #[test]
    fn a_forbidden_file_is_named() {
        let path = Path::new("/sys/class/powercap/intel-rapl:0/energy_uj");
        let reason = not_readable(path, &io::Error::from(io::ErrorKind::PermissionDenied)).to_string();
        assert_eq!(reason, "permission denied: /sys/class/powercap/intel-rapl:0/energy_uj is readable by root only");
    }

    #[test]
    fn a_file_longer_than_a_page_is_read_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "0123456789abcde\n".repeat(2000);
        std::fs::write(file.path(), &text).unwrap();
        let mut kernel_file = KernelFile::open(PathBuf::from(file.path()));
        assert_eq!(kernel_file.text().unwrap(), text);
        std::fs::write(file.path(), "short\nnow\n").unwrap();
        assert_eq!(kernel_file.text().unwrap(), "short\nnow\n");
        assert_eq!(kernel_file.first_line().unwrap(), "short");
    }

    #[test]
    fn a_number_is_found_behind_the_whole_word_only() {
        let check = |word: &str, text: &str, number: Option<u64>| assert_eq!(number_behind(word, text), number);
        check("VmRSS:", "VmHWM:\t  2000 kB\nVmRSS:\t  1000 kB\n", Some(1000));
        check("inactive_file", "inactive_file_pages 7\ninactive_file 3\n", Some(3));
        check("VmRSS:", "VmRSS:\t-5 kB\n", None);
        check("VmRSS:", "VmRSS:", None);
        check("VmRSS:", "", None);
    }
}
