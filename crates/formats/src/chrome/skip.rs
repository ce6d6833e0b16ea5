//! Passes a value that is too long to keep in memory, by counting brackets outside strings.

use memchr::memchr2;

use super::resync::is_space;

/// How far into the value the passing is.
#[derive(Default)]
pub(super) struct Skipper {
    depth: usize,
    place: Place,
    has_begun: bool,
    is_done: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    String,
    /// Right behind a backslash in a string.
    Escape,
}

impl Skipper {
    /// Whether the value is passed.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Passes what belongs to the value and gives its length; `None` when the value is passed already.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.is_done {
            return None;
        }
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.place == Place::Escape {
                self.place = Place::String;
                at += 1;
            } else if self.place == Place::String {
                let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) else { return Some(bytes.len()) };
                at += found + 1;
                self.place = if bytes[at - 1] == b'"' { Place::Outside } else { Place::Escape };
            } else {
                match byte {
                    b'{' | b'[' => self.depth += 1,
                    b',' | b'}' | b']' if self.depth == 0 => {
                        self.is_done = true;
                        return Some(at);
                    }
                    b'}' | b']' => self.depth -= 1,
                    b'"' => self.place = Place::String,
                    _ if is_space(byte) && self.depth == 0 && self.has_begun => {
                        self.is_done = true;
                        return Some(at);
                    }
                    _ => {}
                }
                self.has_begun = true;
                at += 1;
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::Skipper;

    #[track_caller]
    fn check(text: &str, want: usize) {
        for block in 1..text.len() {
            let mut skipper = Skipper::default();
            let mut at = 0;
            while at < text.len() && !skipper.is_done() {
                let end = text.len().min(at + block);
                at += skipper.pass(&text.as_bytes()[at..end]).unwrap_or(0);
            }
            assert_eq!(at, want, "{text} in blocks of {block}");
        }
    }

    #[test]
    fn values_end_where_they_end() {
        check(r#"{"a": [1, "}]\"", {}]}, "b""#, 22);
        check(r#""a,\\" , 1"#, 6);
        check("123 }", 3);
        check("[[]] ]", 4);
        check("[1, 2", 5);
    }
}
