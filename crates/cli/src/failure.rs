//! Why a command stopped, and how that reads: what happened, where, what to do next.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use stepscope_model::{Exit, Hint};
use stepscope_report::{ShapeError, safe_text};
use stepscope_workspace::RunError;

use crate::Context;

/// Everything a person needs to know about a failed command.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// What happened.
    pub(crate) message: String,
    /// Which file or option, and where in it.
    pub(crate) location: Option<String>,
    /// What to do next; may have several lines.
    pub(crate) hint: Option<String>,
    /// Exit code.
    pub(crate) exit: Exit,
    /// The reader of our output is gone, which is its right.
    pub(crate) is_broken_pipe: bool,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), location: None, hint: None, exit: Exit::Usage, is_broken_pipe: false }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(doing: &str, path: &str, error: &std::io::Error) -> Self {
        Self::usage(format!("cannot {doing}: {error}")).at(path).with_exit(Exit::Unreadable)
    }

    /// An output that cannot be written.
    pub(crate) fn unwritable(path: &Path, error: std::io::Error) -> Self {
        RunError::Write { path: path.to_owned(), source: error }.into()
    }

    pub(crate) fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints to standard error. Nothing can be done if that fails.
    pub(crate) fn print(&self, context: Context) {
        let color = context.color.on_stderr();
        let mut text = format!("{} {}\n", bold("error:", "31", color), safe_text::lines(&self.message));
        if let Some(location) = &self.location {
            let arrow = if color { "\u{1b}[2m-->\u{1b}[0m" } else { "-->" };
            let _ = writeln!(text, "  {arrow} {}", safe_text::one_line(location));
        }
        if let Some(hint) = &self.hint {
            let hint = safe_text::lines(hint).replace('\n', "\n      ");
            let _ = writeln!(text, "{} {hint}", bold("hint:", "36", color));
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// One line on standard error.
pub(crate) fn print_line(line: &str, context: Context) {
    if !context.quiet {
        let _ = writeln!(std::io::stderr(), "{}", safe_text::one_line(line));
    }
}

fn bold(text: &str, code: &str, color: bool) -> String {
    if color { format!("\u{1b}[1;{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let is_gone = |source: &std::io::Error| source.kind() == std::io::ErrorKind::BrokenPipe;
        Self {
            is_broken_pipe: matches!(&error, RunError::Write { source, .. } if is_gone(source)),
            message: error.to_string(),
            location: error.location(),
            hint: error.hint().map(std::borrow::Cow::into_owned),
            exit: error.exit(),
        }
    }
}

impl From<ShapeError> for Failure {
    fn from(error: ShapeError) -> Self {
        let failure = Self::usage(error.to_string()).at(format!("{} {}", error.option, error.name));
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}
