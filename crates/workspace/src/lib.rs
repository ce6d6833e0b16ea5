//! The one façade over Stepscope: open, ingest, query, measure.
//!
//! Commands, the server and Python talk to [`Workspace`] and to nothing below it. What it answers are plain reports
//! and JSON; how they look is not decided here. How a run is opened, what is asked about it and what a timeline shows of
//! it are crates of their own: `runs`, `analyses` and `timeline`.

mod output;
mod rows;
mod trim;
mod workspace;

pub use output::{Output, OutputFile, remove_unfinished};
pub use rows::Rows;
pub use stepscope_analyses::{
    ANALYSES, Analysis, AskedChange, Baseline, BaselineError, ChangeError, Checked, Choice, DiffSide, GateMetric,
    GateOptions, GateRun, JudgedMetric, MetricError, Outcome, PathPart, Question, RulesFileError, TRANSFORMATIONS,
    Transformation, check, choices, diff, pages, read_metrics, read_thresholds, shorten_check, shorten_diff,
};
pub use stepscope_engine::{CancelFlag, Order, Pick, QueryResult};
pub use stepscope_ingest::{Extras, Progress, default_memory_limit_bytes};
pub use stepscope_rules::{Causes, Fix, Framework, Need, NumberFormat, RULES, Rule, Thresholds, Vendor, Weight};
pub use stepscope_runs::{
    Cache, Clear, CompactOptions, Depth, ExpireOptions, RunChoice, RunError, RunInput, Settings, is_address,
};
pub use stepscope_timeline::{CurveRange, FindingScope, PathRange, SearchFor, SearchFrom, Stretch, TrackRange};
pub use trim::Trimmed;
pub use workspace::{Kept, Workspace};
