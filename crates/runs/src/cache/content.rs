//! What a file holds, as a digest: of all bytes, or for a very large file of its ends and blocks in between.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use twox_hash::XxHash3_128;

/// From this size on a file is sampled: reading all of it would take as long as a second of everybody's patience.
pub(super) const SAMPLED_FROM_BYTES: u64 = 1 << 30;

const BLOCK_BYTES: u64 = 64 * 1024;
/// Blocks between the two ends.
const BLOCKS_BETWEEN: u64 = 64;
const READ_BYTES: usize = 1 << 20;

/// How a digest is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Full,
    Sampled,
}

impl Method {
    /// The method behind a digest that was kept.
    pub(super) fn of(digest: &str) -> Option<Self> {
        match digest.split_once(':')?.0 {
            "full" => Some(Self::Full),
            "sampled" => Some(Self::Sampled),
            _ => None,
        }
    }

    fn tag(self, hasher: &XxHash3_128) -> String {
        let word = if self == Self::Full { "full" } else { "sampled" };
        format!("{word}:{:032x}", hasher.finish_128())
    }
}

/// The digest of a file whose bytes an ingest has hashed already.
pub(super) fn full(hexadecimal: &str) -> String {
    format!("full:{hexadecimal}")
}

/// The digest of a file. `on_bytes` hears how many bytes were read, and stops it with false; then it is `None`.
pub(super) fn digest(path: &Path, method: Method, on_bytes: &mut dyn FnMut(u64) -> bool) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut hasher = XxHash3_128::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut done = 0;
    if method == Method::Full {
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.write(&buffer[..read]);
            done += read as u64;
            if !on_bytes(done) {
                return Ok(None);
            }
        }
        return Ok(Some(method.tag(&hasher)));
    }
    hasher.write(&size.to_le_bytes());
    for start in block_starts(size) {
        let block = &mut buffer[..BLOCK_BYTES.min(size - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(block)?;
        hasher.write(block);
    }
    Ok(Some(method.tag(&hasher)))
}

/// Where the blocks begin: evenly spread, the first at the beginning, the last at the end.
fn block_starts(size: u64) -> Vec<u64> {
    let last = size.saturating_sub(BLOCK_BYTES);
    let steps = BLOCKS_BETWEEN + 1;
    let mut starts: Vec<u64> =
        (0..=steps).map(|step| (u128::from(last) * u128::from(step) / u128::from(steps)) as u64).collect();
    starts.dedup();
    starts
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn of(bytes: &[u8], method: Method) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        digest(file.path(), method, &mut |_| true).unwrap().unwrap()
    }

    #[test]
    fn a_full_digest_is_that_of_an_ingest() {
        let bytes = vec![7; 3 << 20];
        assert_eq!(of(&bytes, Method::Full), full(&format!("{:032x}", XxHash3_128::oneshot(&bytes))));
    }

    #[test]
    fn a_sample_sees_both_ends_and_the_size() {
        let bytes = vec![7; 40 << 20];
        let whole = of(&bytes, Method::Sampled);
        for change in [0, bytes.len() - 1, block_starts(bytes.len() as u64)[30] as usize] {
            let mut other = bytes.clone();
            other[change] = 8;
            assert_ne!(of(&other, Method::Sampled), whole, "byte {change}");
        }
        assert_ne!(of(&bytes[1..], Method::Sampled), whole);
        assert_eq!(block_starts(40 << 20).len(), 66);
        assert_eq!(of(&[], Method::Sampled), of(&[], Method::Sampled));
    }

    #[test]
    fn the_method_is_part_of_the_digest() {
        for method in [Method::Full, Method::Sampled] {
            assert_eq!(Method::of(&of(b"trace", method)), Some(method));
        }
        assert_eq!(Method::of("crc:00"), None);
    }
}
