//! Tokens and certificates in files. They are read again when they change, so that they can be renewed in place.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A value made of files, made again when one of them changes.
pub(crate) struct Followed<T> {
    files: Vec<PathBuf>,
    current: Mutex<(Vec<Option<SystemTime>>, T)>,
}

impl<T: Clone> Followed<T> {
    /// Makes the value for the first time.
    pub(crate) fn new<E>(files: Vec<PathBuf>, make: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        let times = times(&files);
        Ok(Self { current: Mutex::new((times, make()?)), files })
    }

    /// The value of the files as they are now. While one of them cannot be used, the last value stays.
    pub(crate) fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> T {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = times(&self.files);
        if now != current.0
            && let Ok(value) = make()
        {
            *current = (now, value);
        }
        current.1.clone()
    }
}

fn times(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files.iter().map(|file| fs::metadata(file).and_then(|metadata| metadata.modified()).ok()).collect()
}

/// A token in a file.
pub(crate) struct Token {
    file: PathBuf,
    text: Followed<String>,
}

impl Token {
    /// Reads the token. An empty one is refused: it would let everybody in.
    pub(crate) fn read(file: &Path) -> io::Result<Self> {
        let text = Followed::new(vec![file.to_owned()], || read_token(file))?;
        Ok(Self { file: file.to_owned(), text })
    }

    /// What a request with the token has in `authorization`.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.text.get(|| read_token(&self.file)))
    }

    /// Whether a request may pass. Takes the same time wherever a wrong token differs.
    pub(crate) fn admits(&self, authorization: &[u8]) -> bool {
        let wanted = self.header();
        let differences = wanted.bytes().zip(authorization).fold(0, |sum, (a, b)| sum | (a ^ b));
        wanted.len() == authorization.len() && differences == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Token").field("file", &self.file).finish_non_exhaustive()
    }
}

fn read_token(file: &Path) -> io::Result<String> {
    let text = fs::read_to_string(file)?.trim().to_owned();
    let is_sound = text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_sound { Ok(text) } else { Err(io::Error::other("expected a token of at least 16 visible ASCII characters")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_compared_as_a_whole_and_follows_its_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("token");
        for bad in ["", "short", "with a space in the middle"] {
            fs::write(&file, bad)?;
            assert!(Token::read(&file).is_err(), "{bad}");
        }
        fs::write(&file, "0123456789abcdef\n")?;
        let token = Token::read(&file)?;
        assert!(token.admits(b"Bearer 0123456789abcdef"));
        for wrong in ["", "Bearer ", "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0", "0123456789abcdef"] {
            assert!(!token.admits(wrong.as_bytes()), "{wrong}");
        }
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        fs::write(&file, "fedcba9876543210\n")?;
        fs::File::options().write(true).open(&file)?.set_modified(later)?;
        assert!(token.admits(b"Bearer fedcba9876543210") && !token.admits(b"Bearer 0123456789abcdef"));
        Ok(())
    }
}
