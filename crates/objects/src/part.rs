//! A part of an object as a path of its own, so that whoever reads a path needs to know nothing else.
//!
//! ```text
//! parts/<key of the object>/<offset>-<length>/<name>
//! ```

use std::ops::Range;

/// What every path of a part begins with.
const FOLDER: &str = "parts";

/// Some bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Key of the object.
    pub key: String,
    /// Which bytes.
    pub range: Range<u64>,
}

impl Part {
    /// The path of the part. `name` is for people, and for programs that look at endings.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        let Self { key, range } = self;
        format!("{FOLDER}/{key}/{}-{}/{name}", range.start, range.end.saturating_sub(range.start))
    }

    /// The part that a path means; `None` for the path of a whole object.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let rest = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
        let (rest, _name) = rest.rsplit_once('/')?;
        let (key, place) = rest.rsplit_once('/')?;
        let (offset, length) = place.split_once('-')?;
        let start: u64 = offset.parse().ok()?;
        Some(Self { key: key.to_owned(), range: start..start.checked_add(length.parse().ok()?)? })
    }

    /// Where a range of the part is in its object; it ends with the part.
    pub(crate) fn inside(&self, range: &Range<u64>) -> Range<u64> {
        let at = |place: u64| self.range.start.saturating_add(place).min(self.range.end);
        at(range.start)..at(range.end)
    }

    /// Number of bytes.
    pub(crate) fn length(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        let part = Part { key: "runs/a/in/0/3/1.2.pack".to_owned(), range: 8..20 };
        assert_eq!(part.path("steps.parquet"), "parts/runs/a/in/0/3/1.2.pack/8-12/steps.parquet");
        assert_eq!(Part::parse(&part.path("steps.parquet")), Some(part.clone()));
        assert_eq!((part.inside(&(0..5)), part.inside(&(10..50)), part.length()), (8..13, 18..20, 12));
        for path in ["", "parts", "parts/a", "parts/a/b", "parts/a/1/b", "parts/a/-1-2/b", "partsx/a/1-2/b", "a/1-2/b"]
        {
            assert_eq!(Part::parse(path), None, "{path}");
        }
        assert_eq!(Part::parse(&format!("parts/a/1-{}/b", u64::MAX)), None);
    }
}
