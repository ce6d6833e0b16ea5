//! Names whose regions were dropped. A thread that drops one must not wait, so each name is a bit of a fixed table;
//! names past its size share their bits with others.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::names::NameId;

const WORDS: usize = 1 << 8;

static DROPPED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// A region of this name was dropped.
#[cold]
pub(crate) fn note(name: NameId) {
    let (word, bit) = place(name);
    DROPPED[word].fetch_or(bit, Ordering::Relaxed);
}

/// Whether a region of this name was ever dropped.
pub(crate) fn has_dropped(name: NameId) -> bool {
    let (word, bit) = place(name);
    DROPPED[word].load(Ordering::Relaxed) & bit != 0
}

fn place(name: NameId) -> (usize, u64) {
    (name.0 as usize / 64 % WORDS, 1 << (name.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let (first, second, far) = (NameId(16_001), NameId(16_002), NameId(16_001 + 64 * 256));
        note(first);
        assert!(has_dropped(first) && !has_dropped(second));
        assert!(has_dropped(far), "past the size of the table, a bit is shared");
    }
}
