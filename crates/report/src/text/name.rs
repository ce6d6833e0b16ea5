//! Text that has to fit: shortened names, broken sentences, and spelling without UTF-8.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Which part of a name goes when it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Both ends tell it apart.
    Middle,
    /// What tells it apart stands first.
    End,
}

/// At most `width` cells.
pub(super) fn shorten(text: &str, width: usize, cut: Cut, ascii: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let ellipsis = if ascii { "..." } else { "…" };
    if width <= ellipsis.width() {
        return take_width(text.chars(), width);
    }
    let room = width - ellipsis.width();
    if cut == Cut::End {
        return format!("{}{ellipsis}", take_width(text.chars(), room));
    }
    let head = take_width(text.chars(), room - room / 2);
    let mut tail: Vec<char> = take_width(text.chars().rev(), room / 2).chars().collect();
    tail.reverse();
    format!("{head}{ellipsis}{}", tail.into_iter().collect::<String>())
}

fn take_width(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// Breaks a sentence at spaces; a word that is too long stays whole.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    // What stands in front stays there: it may be code.
    let indent: String = text.chars().take_while(|character| *character == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text[indent.len()..].split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.trim_start() != "" && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
        } else {
            if line.trim_start() != "" {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// What a screen without UTF-8 shows in place of our own signs.
pub(super) fn in_ascii(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '–' | '−' | '─' | '·' => spelled.push('-'),
            '≥' => spelled.push_str(">="),
            '≤' => spelled.push_str("<="),
            'µ' => spelled.push('u'),
            '…' => spelled.push_str("..."),
            '×' => spelled.push('x'),
            '↓' => spelled.push('v'),
            '↑' => spelled.push('^'),
            other => spelled.push(other),
        }
    }
    spelled
}
