//! Progress on standard error: on a terminal only, and only when it takes longer than a second.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stepscope_analysis::Progress;
use stepscope_report::safe_text;

use crate::{Context, interrupt};

const PATIENCE: Duration = Duration::from_secs(1);
const BAR: &str =
    "  {msg}  {bar:24} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
const NO_TOTAL: &str = "  {msg}  {decimal_bytes}  {decimal_bytes_per_sec}";
const DERIVING: &str = "  {msg}  {bar:24} {percent:>3} %  linking and writing  {eta} left";

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
            let (_, bar) = shown.get_or_insert_with(|| (stage, new_bar(stage, total)));
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            bar.set_message(safe_text::one_line(name).into_owned());
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

    fn cancelled(&self) -> bool {
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

fn new_bar(stage: Stage, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match (stage, total) {
        (Stage::Reading, Some(_)) => BAR,
        (Stage::Reading, None) => NO_TOTAL,
        (Stage::Deriving, _) => DERIVING,
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar
}
