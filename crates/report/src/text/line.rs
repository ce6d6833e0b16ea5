//! A line in pieces with a style each, and the colors that the styles become.

use stepscope_model::Class;
use unicode_width::UnicodeWidthStr;

/// Which colors a screen can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// No escape sequences at all.
    #[default]
    None,
    /// The sixteen that every terminal has, which its theme may change.
    Sixteen,
    /// The fixed part of 256, on a dark background.
    Dark256,
    /// The same on a light background.
    Light256,
}

impl From<bool> for ColorMode {
    fn from(has_color: bool) -> Self {
        if has_color { Self::Sixteen } else { Self::None }
    }
}

/// What a piece of text means to the eye.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    Bold,
    Secondary,
    Class(Class),
    High,
    Medium,
    Good,
}

/// One line of the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pieces: Vec<(String, Style)>,
    width: usize,
}

impl Line {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        let width = text.width();
        Self { pieces: vec![(text, style)], width }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::Plain)
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn push(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.width += text.width();
            self.pieces.push((text.to_owned(), style));
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for (text, style) in &other.pieces {
            self.push(text, *style);
        }
    }

    /// Spaces up to a place; nothing if the line is there already.
    pub(crate) fn pad_to(&mut self, width: usize) {
        self.push(&" ".repeat(width.saturating_sub(self.width)), Style::Plain);
    }

    /// The text alone.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|(text, _)| text.as_str()).collect()
    }

    /// The same text in one style.
    pub(crate) fn restyled(&self, style: Style) -> Self {
        Self::new(self.text(), style)
    }

    /// With escape sequences, without spaces at the end, with a line end.
    pub(crate) fn paint(&self, color: ColorMode) -> String {
        let mut painted = String::new();
        for (text, style) in &self.pieces {
            match code(*style, color) {
                Some(code) if !text.trim().is_empty() => {
                    painted.push_str("\u{1b}[");
                    painted.push_str(&code);
                    painted.push('m');
                    painted.push_str(text);
                    painted.push_str("\u{1b}[0m");
                }
                _ => painted.push_str(text),
            }
        }
        painted.truncate(painted.trim_end_matches(' ').len());
        painted.push('\n');
        painted
    }
}

fn code(style: Style, color: ColorMode) -> Option<String> {
    let (sixteen, dark, light) = match style {
        Style::Plain => return None,
        Style::Bold => return (color != ColorMode::None).then(|| "1".to_owned()),
        Style::Secondary => ("2", 245, 242),
        Style::High => ("31", 210, 124),
        Style::Medium => ("33", 215, 94),
        Style::Good => ("32", 114, 29),
        Style::Class(Class::Kernel) => ("94", 69, 25),
        Style::Class(Class::Memcpy) => ("36", 80, 32),
        Style::Class(Class::Memset) => ("37", 194, 245),
        Style::Class(Class::Communication) => ("35", 163, 89),
        Style::Class(Class::Runtime) => ("33", 222, 94),
        Style::Class(Class::Dataloader) => ("91", 208, 202),
        Style::Class(Class::CpuExec) => ("32", 65, 65),
        Style::Class(Class::Other) => ("90", 241, 242),
    };
    match color {
        ColorMode::None => None,
        ColorMode::Sixteen => Some(sixteen.to_owned()),
        ColorMode::Dark256 => Some(format!("38;5;{dark}")),
        ColorMode::Light256 => Some(format!("38;5;{light}")),
    }
}
