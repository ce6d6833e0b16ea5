//! When to use color: `--color`, then `NO_COLOR`, then whether a person is looking.

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{ArgMatches, ValueEnum};
use stepscope_report::text::ColorMode;

/// What `--color` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always, also into a pipe.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        matches.get_one("color").copied().unwrap_or_default()
    }

    /// The choice in a command line that was not parsed yet, or cannot be.
    pub(crate) fn among(arguments: &[OsString]) -> Self {
        let mut choice = Self::Auto;
        let mut follows = false;
        for argument in arguments {
            let argument = argument.to_string_lossy();
            let value = if follows { Some(argument.as_ref()) } else { argument.strip_prefix("--color=") };
            choice = value.and_then(|value| Self::from_str(value, false).ok()).unwrap_or(choice);
            follows = argument == "--color";
        }
        choice
    }

    pub(crate) fn for_clap(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }

    pub(crate) fn on_stdout(self) -> bool {
        self.on(&std::io::stdout())
    }

    pub(crate) fn on_stderr(self) -> bool {
        self.on(&std::io::stderr())
    }

    fn on(self, stream: &impl IsTerminal) -> bool {
        let unwanted = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => stream.is_terminal() && !unwanted() && !dumb(),
        }
    }
}

/// Which colors the terminal can show, according to its environment.
pub(crate) fn mode() -> ColorMode {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let has_256 = variable("TERM").contains("256color") || !variable("COLORTERM").is_empty();
    // Foreground and background as numbers of the sixteen: 7 and 15 are light.
    let is_light = matches!(variable("COLORFGBG").rsplit(';').next(), Some("7" | "15"));
    match (has_256, is_light) {
        (false, _) => ColorMode::Sixteen,
        (true, false) => ColorMode::Dark256,
        (true, true) => ColorMode::Light256,
    }
}

/// Whether the terminal says that it shows nothing but ASCII. One that says nothing shows more.
pub(crate) fn is_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    locale.is_some_and(|locale| !locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}
