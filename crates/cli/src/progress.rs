//! Progress on standard error: on a terminal only, and only when it takes longer than a second.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_report::{safe_text, text};
use stepscope_workspace::Progress;

use crate::{Context, interrupt};

const PATIENCE: Duration = Duration::from_secs(1);
/// A line of the progress: its template, and the cells that it takes at most beside the name.
type Row = (&'static str, usize);

/// From the widest screen to the narrowest: what does not fit there is left out.
const READING: [Row; 3] = [
    (
        "  {msg}  {bar:24} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left",
        86,
    ),
    ("  {msg}  {bar:12} {percent:>3} %  {decimal_bytes_per_sec}  {eta} left", 50),
    ("  {msg}  {percent:>3} %", 10),
];
const NO_TOTAL: [Row; 2] =
    [("  {msg}  {decimal_bytes}  {decimal_bytes_per_sec}", 30), ("  {msg}  {decimal_bytes}", 14)];
const DERIVING: [Row; 3] = [
    ("  {msg}  {bar:24} {percent:>3} %  linking and writing  {eta} left", 70),
    ("  {msg}  {bar:12} {percent:>3} %  {eta} left", 37),
    ("  {msg}  {percent:>3} %", 10),
];
/// A name keeps this much, or the line gets shorter.
const NAME_CELLS: usize = 20;

/// One line that shows the file being read.
pub(crate) struct TerminalProgress {
    is_shown: bool,
    is_quiet: bool,
    started: Instant,
    bar: Mutex<Option<(Stage, ProgressBar)>>,
}

/// What the line shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Deriving,
}

impl TerminalProgress {
    pub(crate) fn new(context: Context) -> Self {
        let is_shown = !context.quiet && std::io::stderr().is_terminal();
        Self { is_shown, is_quiet: context.quiet, started: Instant::now(), bar: Mutex::new(None) }
    }

    fn with_bar(&self, action: impl FnOnce(&mut Option<(Stage, ProgressBar)>)) {
        action(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn show(&self, stage: Stage, file: &str, done: u64, total: Option<u64>) {
        if !self.is_shown || self.started.elapsed() < PATIENCE {
            return;
        }
        self.with_bar(|shown| {
            if let Some((_, bar)) = shown.take_if(|(of, _)| *of != stage) {
                bar.finish_and_clear();
            }
            let (template, name_cells) = row(stage, total.is_some(), screen_width());
            let (_, bar) = shown.get_or_insert_with(|| (stage, new_bar(template, total)));
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            bar.set_message(text::shortened(&safe_text::one_line(name), name_cells));
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done);
        });
    }
}

impl Progress for TerminalProgress {
    fn update(&self, file: &str, bytes_done: u64, bytes_total: Option<u64>) {
        self.show(Stage::Reading, file, bytes_done, bytes_total);
    }

    fn deriving(&self, file: &str, rows_done: u64, rows_total: u64) {
        self.show(Stage::Deriving, file, rows_done, Some(rows_total));
    }

    fn finished_file(&self) {
        self.with_bar(|bar| {
            if let Some((_, bar)) = bar.take() {
                bar.finish_and_clear();
            }
        });
    }

    fn canceled(&self) -> bool {
        interrupt::is_set()
    }

    fn notice(&self, message: &str) {
        if self.is_quiet {
            return;
        }
        let print = || {
            let _ = writeln!(std::io::stderr(), "note: {}", safe_text::one_line(message));
        };
        self.with_bar(|bar| match bar {
            Some((_, bar)) => bar.suspend(print),
            None => print(),
        });
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.finished_file();
    }
}

/// The line for a screen, and the cells that are left for the name.
fn row(stage: Stage, has_total: bool, width: usize) -> (&'static str, usize) {
    let rows: &[Row] = match (stage, has_total) {
        (Stage::Reading, true) => &READING,
        (Stage::Reading, false) => &NO_TOTAL,
        (Stage::Deriving, _) => &DERIVING,
    };
    let fits = rows.iter().find(|(_, cells)| cells + NAME_CELLS <= width).or(rows.last());
    fits.map_or(("  {msg}", width), |(template, cells)| (*template, width.saturating_sub(*cells)))
}

fn screen_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(columns, _)| usize::from(columns.0))
}

fn new_bar(template: &str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_screen() {
        let longest = [
            ("{msg}", ""),
            ("{bar:24}", "------------------------"),
            ("{bar:12}", "------------"),
            ("{percent:>3}", "100"),
            ("{decimal_bytes_per_sec}", "999.99 MB/s"),
            ("{decimal_bytes}", "999.99 GB"),
            ("{decimal_total_bytes}", "999.99 GB"),
            ("{eta}", "99 days"),
        ];
        for width in [20, 40, 60, 79, 80, 100, 120, 200] {
            for (stage, has_total) in [(Stage::Reading, true), (Stage::Reading, false), (Stage::Deriving, true)] {
                let (template, name_cells) = row(stage, has_total, width);
                let filled = longest.iter().fold(template.to_owned(), |line, (what, by)| line.replace(what, by));
                assert!(!filled.contains('{'), "{filled}");
                assert!(filled.len() + name_cells <= width, "{filled:?} and {name_cells} cells in {width}");
                assert!(name_cells >= NAME_CELLS.min(width - 14), "{name_cells} cells in {width}");
            }
        }
    }
}
