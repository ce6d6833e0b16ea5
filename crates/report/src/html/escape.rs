//! Text on its way into markup. Names in traces are written by strangers: whatever they hold is shown as text.

use crate::safe_text;

/// The text as markup, in an element or between quotes. Control characters and marks that reorder text become visible.
#[must_use]
pub fn escaped(text: &str) -> String {
    shortened(text, usize::MAX)
}

/// The same, cut where its markup would be longer than `most_bytes`, so that no name makes a page too large to send.
#[must_use]
pub fn shortened(text: &str, most_bytes: usize) -> String {
    let mut markup = String::with_capacity(text.len().min(most_bytes));
    // What is behind the cut need not be looked at, however long it is.
    let end = text.char_indices().nth(most_bytes.saturating_add(1)).map_or(text.len(), |(end, _)| end);
    for character in safe_text::lines(&text[..end]).chars() {
        let before = markup.len();
        match character {
            '&' => markup.push_str("&amp;"),
            '<' => markup.push_str("&lt;"),
            '>' => markup.push_str("&gt;"),
            '"' => markup.push_str("&quot;"),
            '\'' => markup.push_str("&#39;"),
            other => markup.push(other),
        }
        if markup.len() > most_bytes {
            markup.truncate(before);
            markup.push('…');
            break;
        }
    }
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        let check = |text: &str, want: &str| assert_eq!(escaped(text), want);
        check("aten::mm", "aten::mm");
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("\" onload='x' ", "&quot; onload=&#39;x&#39; ");
        check("&lt;", "&amp;lt;"); // What looks escaped is what was written.
        check("]]><!--", "]]&gt;&lt;!--");
        check("a\u{0}\u{1b}[31m\u{202e}b", "a␀␛[31m�b");
        check("two\nlines", "two\nlines");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdef", 5), "abcde…");
        assert_eq!(shortened("<<<", 9), "&lt;&lt;…"); // Never inside of an escape.
        assert_eq!(shortened("äöü", 4), "äö…");
        assert_eq!(shortened(&"<".repeat(1 << 20), 40), format!("{}…", "&lt;".repeat(10)));
    }
}
