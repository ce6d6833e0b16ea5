//! Options that mean the same everywhere.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use stepscope_model::arguments;
use stepscope_workspace::{Depth, Extras, RunChoice, Settings, Thresholds, read_thresholds};

use crate::failure::Failure;
use crate::shell_words;

/// How data is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Columns for people.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// Raw values with a header row.
    Csv,
    /// Markdown, to paste somewhere.
    Md,
    /// The rows as an Arrow IPC file.
    Arrow,
    /// The rows as a Parquet file.
    Parquet,
}

/// What is shown, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// Choose the format: table, json, csv, md, arrow or parquet
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_enum, hide_possible_values = true)]
    pub(crate) format: OutputFormat,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Sort by a column; a leading - reverses
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    /// Show at most N rows; 0 shows all
    #[arg(long, value_name = "N", value_parser = parse_rows)]
    pub(crate) limit: Option<usize>,
    /// Show these columns, in this order, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
}

/// Which recordings of a run.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SourceOptions {
    /// Select a rank
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub(crate) rank: Option<u32>,
    /// Select a window: one capture cycle of a rank, from 0
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub(crate) window: Option<u32>,
}

impl SourceOptions {
    /// What a row must have to be of these recordings.
    pub(crate) fn only(self) -> Vec<(&'static str, i64)> {
        let rank = self.rank.map(|rank| ("rank", i64::from(rank)));
        rank.into_iter().chain(self.window.map(|window| ("window", i64::from(window)))).collect()
    }
}

/// From where on rules speak.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RulesOptions {
    /// Change thresholds of rules by a JSON file, such as `{"data_loading": {"share_ratio": 0.1}}`
    #[arg(long, value_name = "FILE", help_heading = "Findings")]
    rules: Option<PathBuf>,
}

impl RulesOptions {
    /// Whether a file is given.
    pub(crate) fn is_given(&self) -> bool {
        self.rules.is_some()
    }

    /// The thresholds of the file, or the usual ones.
    pub(crate) fn thresholds(&self) -> Result<Thresholds, Failure> {
        let Some(path) = &self.rules else { return Ok(Thresholds::default()) };
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::unreadable("read the rules", &shown, &error))?;
        let hint = "`stepscope rules` lists rules and thresholds";
        read_thresholds(&text).map_err(|error| Failure::usage(error.to_string()).at(shown).with_hint(hint))
    }
}

/// How a trace becomes a store.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputOptions {
    /// Keep the store in DIR or in a bucket instead of the cache
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Select a run by its name or a part of it
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Leave out recordings of a bucket that are not compacted yet
    #[arg(long)]
    pub(crate) no_fresh: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingOptions,
}

/// How a trace is read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadingOptions {
    /// Read the trace again, and keep nothing in the cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Treat every file as a separate run
    #[arg(long)]
    pub(crate) separate_runs: bool,
    /// Refuse a trace that is only partly readable (exit code 3)
    #[arg(long)]
    pub(crate) strict: bool,
    /// Limit the threads of a query
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Limit the memory of reading and of a query, such as 512MiB or 2GB (a GB is 10^9 bytes, a GiB is 2^30)
    #[arg(long, value_name = "SIZE", value_parser = arguments::limit_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Limit the time of a query, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time_limit: Option<Duration>,
}

impl InputOptions {
    /// The options that select the run, as typed.
    pub(crate) fn in_words(&self) -> String {
        let separate_runs = if self.reading.separate_runs { " --separate-runs" } else { "" };
        let run = self.run.as_ref().map(|run| format!(" --run {}", shell_words::of_paths(&[PathBuf::from(run)])));
        format!("{separate_runs}{}", run.unwrap_or_default())
    }

    /// Everything that a command reads which was given these paths: nothing may be written there.
    pub(crate) fn inputs(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        paths.iter().chain(&self.store).cloned().collect()
    }

    pub(crate) fn settings(&self) -> Settings {
        let run = RunChoice::named(self.run.clone());
        Settings { run, no_fresh: self.no_fresh, ..self.reading.settings(self.store.clone()) }
    }
}

impl ReadingOptions {
    pub(crate) fn settings(&self, store: Option<PathBuf>) -> Settings {
        Settings {
            store,
            run_name: None,
            depth: Depth::default(),
            background: false,
            no_cache: self.no_cache,
            separate_runs: self.separate_runs,
            run: RunChoice::Only,
            window: None,
            no_fresh: false,
            flat_folders: false,
            strict: self.strict,
            extras: Extras::default(),
            memory_limit_bytes: self.memory_limit,
            threads: self.threads.map(usize::from),
            time_limit: self.time_limit,
        }
    }
}

/// The options of a command from what clap found.
pub(crate) fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))
}

fn parse_rows(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a number of rows; 0 shows all".to_owned())
}

/// `30`, `30s`, `500ms`, `5m`, `1h`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let number: u64 = digits.trim().parse().map_err(|_| "expected a time such as 30s or 5m".to_owned())?;
    let milliseconds: u64 = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err("unknown unit, expected ms, s, m or h".to_owned()),
    };
    let duration = number.checked_mul(milliseconds).ok_or("too long")?;
    if duration == 0 { Err("must be greater than 0".to_owned()) } else { Ok(Duration::from_millis(duration)) }
}

/// `1500` nanoseconds, `20us`, `150ms`, `1.5s`.
pub(crate) fn parse_nanoseconds(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|character: char| character.is_alphabetic());
    let number: f64 = digits.trim().parse().map_err(|_| "expected a time such as 150ms or 1.5s".to_owned())?;
    let unit = match &text[digits.len()..] {
        "" | "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        _ => return Err("unknown unit, expected ns, us, ms, s or m".to_owned()),
    };
    let nanoseconds = number * unit;
    if (0.0..9e18).contains(&nanoseconds) { Ok(nanoseconds.round() as i64) } else { Err("out of range".to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn sizes_mean_what_they_mean_everywhere() {
        let cases: Value = serde_json::from_str(include_str!("../../model/tests/arguments.json")).unwrap();
        for case in ["sizes", "limits"].into_iter().flat_map(|kind| cases[kind].as_array().unwrap()) {
            let text = case["text"].as_str().unwrap();
            let command = ReadingOptions::augment_args(clap::Command::new("stepscope"));
            let parsed = command.try_get_matches_from(["stepscope", &format!("--memory-limit={text}")]);
            match parsed.and_then(|matches| ReadingOptions::from_arg_matches(&matches)) {
                Ok(options) => assert_eq!(json!(options.memory_limit), case["is"], "{text}"),
                Err(error) => {
                    let (error, wanted) = (error.to_string(), case["error"].as_str());
                    assert!(wanted.is_some_and(|wanted| error.contains(wanted)), "{text}: {error}");
                }
            }
        }
    }

    #[test]
    fn times() {
        let check = |text: &str, want: Option<i64>| assert_eq!(parse_nanoseconds(text).ok(), want, "{text}");
        check("1500", Some(1_500));
        check("1.5s", Some(1_500_000_000));
        check("20us", Some(20_000));
        check("-1ms", None);
        check("1day", None);
    }

    #[test]
    fn durations() {
        let check = |text: &str, want: Option<u64>| {
            assert_eq!(parse_duration(text).ok(), want.map(Duration::from_millis), "{text}");
        };
        check("30", Some(30_000));
        check("500ms", Some(500));
        check("5m", Some(300_000));
        check("0s", None);
        check("soon", None);
    }
}
