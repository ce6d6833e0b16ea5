//! The last 40 bytes of a pack.

use super::{ALIGNMENT, MAGIC};

/// Length of the tail.
pub(super) const TAIL_BYTES: u64 = 40;

/// Record and directory together are at most this long; a thousandth of it is usual.
const DESCRIPTION_MAX: u64 = 16 << 20;

/// Where things are in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// Where the sums begin; they end where the record begins.
    pub(super) sums_offset: u64,
    /// Where the record begins; it ends where the directory begins.
    pub(super) record_offset: u64,
    /// Where the directory begins; it ends with the tail.
    pub(super) directory_offset: u64,
    /// xxh3-64 of record and directory.
    pub(super) checksum: u64,
}

/// Why a tail is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadTail {
    /// Another version of the format.
    Version(u64),
    /// Not a tail.
    Corrupt(&'static str),
}

impl Tail {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.sums_offset, self.record_offset, self.directory_offset, self.checksum];
        numbers.iter().flat_map(|number| number.to_le_bytes()).chain(MAGIC).collect()
    }

    /// Reads a tail of a pack of `size` bytes. What it says about places fits into the pack afterwards.
    pub(super) fn parse(bytes: &[u8], size: u64) -> Result<Self, BadTail> {
        let corrupt = |reason| Err(BadTail::Corrupt(reason));
        let (numbers, []) = bytes.as_chunks::<8>() else { return corrupt("its end is cut") };
        let &[sums, record, directory, checksum, magic] = numbers else { return corrupt("its end is cut") };
        if magic != MAGIC {
            let version = magic.strip_prefix(b"SSPK").and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            return Err(version.map_or(BadTail::Corrupt("it does not end as a pack"), BadTail::Version));
        }
        let [sums_offset, record_offset, directory_offset, checksum] =
            [sums, record, directory, checksum].map(u64::from_le_bytes);
        let end = size.saturating_sub(TAIL_BYTES);
        let is_ordered = MAGIC.len() as u64 <= sums_offset
            && sums_offset <= record_offset
            && record_offset < directory_offset
            && directory_offset < end;
        if !is_ordered {
            return corrupt("the places in its tail are not inside of it");
        }
        if !sums_offset.is_multiple_of(ALIGNMENT) || !record_offset.is_multiple_of(ALIGNMENT) {
            return corrupt("the places in its tail are not aligned");
        }
        if end - record_offset > DESCRIPTION_MAX {
            return corrupt("its record and directory are too long");
        }
        Ok(Self { sums_offset, record_offset, directory_offset, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_tails_are_refused_by_name() {
        let tail = |sums, record, directory| Tail {
            sums_offset: sums,
            record_offset: record,
            directory_offset: directory,
            checksum: 7,
        };
        let check = |found: Tail, size, want: Result<(), &'static str>| {
            let parsed = Tail::parse(&found.to_bytes(), size).map(|parsed| assert_eq!(parsed, found));
            assert_eq!(parsed, want.map_err(BadTail::Corrupt), "{found:?} of {size}");
        };
        let outside = Err("the places in its tail are not inside of it");
        check(tail(16, 24, 30), 100, Ok(()));
        check(tail(8, 8, 9), 50, Ok(()));
        check(tail(0, 24, 30), 100, outside);
        check(tail(32, 24, 30), 100, outside);
        check(tail(16, 24, 24), 100, outside);
        check(tail(16, 24, 60), 100, outside);
        check(tail(16, 24, u64::MAX), 100, outside);
        check(tail(u64::MAX, u64::MAX, u64::MAX), u64::MAX, outside);
        check(tail(16, 24, 30), 0, outside);
        check(tail(16, 20, 30), 100, Err("the places in its tail are not aligned"));
        check(tail(9, 24, 30), 100, Err("the places in its tail are not aligned"));
        check(tail(8, 8, 9), u64::MAX, Err("its record and directory are too long"));

        let mut bytes = tail(16, 24, 30).to_bytes();
        assert_eq!(Tail::parse(&bytes[1..], 100), Err(BadTail::Corrupt("its end is cut")));
        assert_eq!(Tail::parse(&[], 100), Err(BadTail::Corrupt("its end is cut")));
        bytes[39] = b'7';
        assert_eq!(Tail::parse(&bytes, 100), Err(BadTail::Version(7)));
        bytes[32] = b'P';
        assert_eq!(Tail::parse(&bytes, 100), Err(BadTail::Corrupt("it does not end as a pack")));
    }
}
