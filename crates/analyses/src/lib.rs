//! What Stepscope answers about a run: the analyses, one file each, and the list of them; every figure of a recording
//! ([`measure`]); and lists of what there is ([`listings`]).
//!
//! An analysis asks SQL and makes a report of the answer. To add one, write its file and add a line to [`ANALYSES`]: the
//! command line, the server, the pages, the HTML report and Python take their lists from there.

mod analyze;
mod asking;
mod before_recording;
mod categories;
mod comms;
mod critical;
mod device_peaks;
mod diagnose;
mod diff;
mod flop_count;
mod functions;
mod gate;
mod gather;
mod hlo;
mod input;
mod kernels;
pub mod launch_queue;
mod launches;
mod layers;
pub mod listings;
mod memory;
mod metrics;
mod modules;
mod ops;
mod question;
mod regions;
mod replays;
mod rules_file;
mod stacks;
mod step_model;
mod step_numbers;
mod step_times;
mod steps;
mod summary;
mod tensor_cores;
mod transfers;
mod whatif;

use stepscope_model::{Content, EmptyPage, Frames, Page, PageEntry, Report, RowCount};
use stepscope_runs::RunError;

pub use self::analyze::analyze;
pub use self::asking::Asking;
pub use self::critical::{PathPart, longest_piece};
pub use self::diff::{Choice, DiffSide, choices, diff, shorten as shorten_diff};
pub use self::gate::{
    Baseline, BaselineError, Checked, GateMetric, GateOptions, GateRun, JudgedMetric, MetricError, Outcome, check,
    measure as measure_for_gate, read_metrics, shorten_check,
};
pub use self::memory::{memory_growth, memory_picture};
pub use self::metrics::measure;
pub use self::question::Question;
pub use self::rules_file::{RulesFileError, read_thresholds};
use self::step_numbers::StepNumbers;
pub use self::tensor_cores::TensorCoreNames;
pub use self::whatif::{AskedChange, ChangeError, TRANSFORMATIONS, Transformation, transformations, whatif};

/// One analysis.
#[derive(Debug)]
pub struct Analysis {
    /// What people type.
    pub name: &'static str,
    /// What its page and its section of the report are called.
    pub title: &'static str,
    /// What it answers, in a few words.
    pub about: &'static str,
    /// Lines for the help: a command and what it is for.
    pub examples: &'static [(&'static str, &'static str)],
    /// What its rows can be grouped by besides the usual.
    pub groupings: &'static [&'static str],
    /// Rows that people see unless they say otherwise; all when missing.
    pub usual_rows: Option<usize>,
    /// Whether it answers with one main table, whose rows and columns can be picked. The summary is many small ones.
    pub has_rows: bool,
    /// What it has something to say about.
    pub reads: &'static [Content],
    /// Whether the HTML report has a section of it.
    pub has_section: bool,
    /// How the browser shows it; some are parts of other pages.
    pub page: Option<Page>,
    pub(crate) answer: fn(&Asking<'_>) -> Result<Report, RunError>,
}

/// The pages of the browser that are an analysis, in the order of the rail.
#[must_use]
pub fn pages() -> Vec<PageEntry> {
    let entry = |analysis: &&Analysis| {
        analysis.page.map(|page| PageEntry { analysis: analysis.name, label: analysis.title, page })
    };
    ANALYSES.iter().filter_map(entry).collect()
}

/// Every analysis, in the order of the help and of the rail.
pub static ANALYSES: [&Analysis; 15] = [
    &summary::ANALYSIS,
    &diagnose::ANALYSIS,
    &critical::ANALYSIS,
    &ops::ANALYSIS,
    &kernels::ANALYSIS,
    &hlo::ANALYSIS,
    &modules::ANALYSIS,
    &input::ANALYSIS,
    &transfers::ANALYSIS,
    &comms::ANALYSIS,
    &memory::ANALYSIS,
    &steps::ANALYSIS,
    &launches::ANALYSIS,
    &regions::ANALYSIS,
    &functions::ANALYSIS,
];
