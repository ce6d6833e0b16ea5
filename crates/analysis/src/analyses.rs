//! The analyses: one file each, and the list of them.
//!
//! An analysis asks SQL and makes a report of the answer. To add one, write its file and add a line to [`ANALYSES`]: the
//! command line, the server and Python take their lists from there.

mod asking;
pub(crate) mod before_recording;
mod categories;
mod comms;
mod diagnose;
mod flop_count;
mod functions;
mod gather;
mod kernels;
mod launches;
mod layers;
mod memory;
mod modules;
mod ops;
mod question;
mod regions;
mod stacks;
mod step_numbers;
mod step_times;
mod steps;
mod summary;
mod transfers;

use stepscope_model::Report;

pub(crate) use self::asking::Asking;
pub use self::question::Question;
pub(crate) use self::step_numbers::StepNumbers;
use crate::error::AnalysisError;

/// One analysis.
#[derive(Debug)]
pub struct Analysis {
    /// What people type.
    pub name: &'static str,
    /// What it answers, in a few words.
    pub about: &'static str,
    /// Lines for the help: a command and what it is for.
    pub examples: &'static [(&'static str, &'static str)],
    /// What its rows can be grouped by besides the usual.
    pub groupings: &'static [&'static str],
    /// Rows that people see unless they say otherwise; all when missing.
    pub usual_rows: Option<usize>,
    pub(crate) answer: fn(&Asking<'_>) -> Result<Report, AnalysisError>,
}

impl Analysis {
    /// Whether it answers with one main table, whose rows and columns can be picked. The summary is many small ones.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.name != summary::ANALYSIS.name
    }

    /// Whether it has something to say about a profile of functions, which has neither steps nor events.
    pub(crate) fn reads_profiles(&self) -> bool {
        [functions::ANALYSIS.name, summary::ANALYSIS.name].contains(&self.name)
    }
}

/// Every analysis, in the order of the help.
pub static ANALYSES: [&Analysis; 12] = [
    &summary::ANALYSIS,
    &diagnose::ANALYSIS,
    &steps::ANALYSIS,
    &ops::ANALYSIS,
    &kernels::ANALYSIS,
    &memory::ANALYSIS,
    &transfers::ANALYSIS,
    &comms::ANALYSIS,
    &modules::ANALYSIS,
    &regions::ANALYSIS,
    &launches::ANALYSIS,
    &functions::ANALYSIS,
];
