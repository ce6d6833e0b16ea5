//! The words that people read: strings of sources, and prose of documents.

/// Some words, and the line of the file that they begin in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// From 1.
    pub line: usize,
    /// The words, with one space between.
    pub text: String,
}

/// How a language writes comments and strings.
struct Language {
    /// How comments begin and end.
    comments: &'static [(&'static str, &'static str)],
    /// How strings begin, longer ones first, and how they end.
    strings: &'static [(&'static str, &'static str)],
    /// Quotes whose string may have several lines.
    long: &'static [&'static str],
    /// Whether `'` is around one character, or before a lifetime.
    has_characters: bool,
}

const RUST: Language = Language {
    comments: &[("//", "\n"), ("/*", "*/")],
    strings: &[("r#\"", "\"#"), ("r\"", "\""), ("\"", "\"")],
    long: &["r#\"", "r\"", "\""],
    has_characters: true,
};
const PYTHON: Language = Language {
    comments: &[("#", "\n")],
    strings: &[("\"\"\"", "\"\"\""), ("'''", "'''"), ("\"", "\""), ("'", "'")],
    long: &["\"\"\"", "'''"],
    has_characters: false,
};
const TYPESCRIPT: Language = Language {
    comments: &[("//", "\n"), ("/*", "*/")],
    strings: &[("\"", "\""), ("`", "`")],
    long: &["`"],
    has_characters: false,
};

/// The strings of Rust code, up to its tests.
#[must_use]
pub fn rust_strings(source: &str) -> Vec<Words> {
    strings(source.split("#[cfg(test)]").next().unwrap_or_default(), &RUST)
}

/// The strings of Python code, docstrings among them.
#[must_use]
pub fn python_strings(source: &str) -> Vec<Words> {
    strings(source, &PYTHON)
}

/// The strings of TypeScript code, and the text between its tags.
#[must_use]
pub fn typescript_strings(source: &str) -> Vec<Words> {
    let mut found = strings(source, &TYPESCRIPT);
    let mut from = 0;
    while let Some(at) = source[from..].find('>') {
        let start = from + at + 1;
        let end = source[start..].find(['<', '>', '{', '}', ';']).map_or(source.len(), |at| start + at);
        let is_text = source[end..].starts_with(['<', '{']) && !source[..start - 1].ends_with('=');
        if is_text {
            found.push(words(source, start, &source[start..end]));
        }
        from = end.max(start);
    }
    found
}

/// The lines of a Markdown document, without blocks of code.
#[must_use]
pub fn prose(document: &str) -> Vec<Words> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push(Words { line: index + 1, text: line.to_owned() });
        }
    }
    found
}

fn strings(source: &str, language: &Language) -> Vec<Words> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        at += if let Some(length) = comment(rest, language) {
            length
        } else if let Some(length) = character(rest).filter(|_| language.has_characters) {
            length
        } else if let Some((open, text, close)) = string(rest, language) {
            found.push(words(source, at, text));
            open + text.len() + close
        } else {
            first.len_utf8()
        };
    }
    found
}

fn comment(rest: &str, language: &Language) -> Option<usize> {
    let (_, end) = language.comments.iter().find(|(begin, _)| rest.starts_with(begin))?;
    Some(rest.find(end).map_or(rest.len(), |at| at + end.len()))
}

/// The length of `'x'` or `'\n'`; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    let skipped = if first == '\\' { 2 } else { first.len_utf8() };
    let end = inner.get(skipped..)?.find('\'')?;
    (end == 0 || first == '\\').then_some(1 + skipped + end + 1)
}

/// The string that begins here: the length of its opening, what is inside, and the length of its end.
fn string<'a>(rest: &'a str, language: &Language) -> Option<(usize, &'a str, usize)> {
    let (open, close) = language.strings.iter().find(|(open, _)| rest.starts_with(open))?;
    let inner = &rest[open.len()..];
    let is_raw = open.starts_with('r');
    let mut at = 0;
    loop {
        let left = &inner[at..];
        if left.starts_with(close) {
            return Some((open.len(), &inner[..at], close.len()));
        }
        let next = left.chars().next()?;
        if next == '\n' && !language.long.contains(open) {
            return None;
        }
        at += next.len_utf8();
        if next == '\\' && !is_raw {
            at += inner[at..].chars().next()?.len_utf8();
        }
    }
}

fn words(source: &str, at: usize, text: &str) -> Words {
    let plain = text.replace("\\\n", "").replace("\\n", " ");
    Words { line: source[..at].matches('\n').count() + 1, text: plain.split_whitespace().collect::<Vec<_>>().join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(found: &[Words]) -> Vec<&str> {
        found.iter().map(|words| words.text.as_str()).collect()
    }

    #[test]
    fn strings_are_found_and_comments_are_not() {
        let rust =
            "// \"no\"\nlet a = '\"'; let b: &'a str = \"one \\\n   line\"; let c = r#\"raw \"x\"\"#; '\\'' \"end\"";
        assert_eq!(texts(&rust_strings(rust)), ["one line", "raw \"x\"", "end"]);
        assert_eq!(rust_strings(rust)[0].line, 2);
        let python = "# \"no\"\nx = f'a {b}'\n\"\"\"Two\n  lines.\"\"\"";
        assert_eq!(texts(&python_strings(python)), ["a {b}", "Two lines."]);
        let page = "<p title=\"a title\">Don't say {count} twice.</p> // 'no'";
        assert_eq!(texts(&typescript_strings(page)), ["a title", "Don't say"]);
        assert_eq!(texts(&prose("one\n```\ncode\n```\ntwo")), ["one", "two"]);
    }
}
