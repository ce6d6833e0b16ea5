//! What `baseline` and `check` have in common: which metrics, and runs that are measured.

use std::path::PathBuf;

use clap::Args;
use stepscope_workspace::{GateMetric, GateRun, Question, Settings, Workspace, read_metrics};

use crate::Context;
use crate::failure::Failure;
use crate::progress::TerminalProgress;

const METRIC_HELP: &str =
    "Compare these, separated by commas: step_time, throughput, peak_memory, exposed_communication, region:NAME";

/// Which metrics.
#[derive(Args)]
#[command(next_help_heading = "Metrics")]
pub(crate) struct MetricOptions {
    #[arg(long, value_name = "METRICS", value_delimiter = ',', help = METRIC_HELP)]
    metric: Vec<String>,
    /// Take metrics and limits from a JSON file, such as `{"step_time": {"report_ratio": 0.03}}`
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

impl MetricOptions {
    /// The metrics of the file and those that are named; the step time without either.
    pub(crate) fn chosen(&self) -> Result<Vec<GateMetric>, Failure> {
        let hint = "`stepscope check --help` shows examples";
        let mut chosen = Vec::new();
        if let Some(path) = &self.metrics {
            let shown = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::unreadable("read the metrics", &shown, &error).with_hint(hint))?;
            let read = read_metrics(&text);
            chosen = read.map_err(|error| Failure::usage(error.to_string()).at(shown).with_hint(hint))?;
        }
        for name in &self.metric {
            let metric = GateMetric::named(name).map_err(|error| Failure::usage(error.to_string()).with_hint(hint))?;
            if !chosen.iter().any(|known| known.name == metric.name) {
                chosen.push(metric);
            }
        }
        Ok(if chosen.is_empty() { GateMetric::usual() } else { chosen })
    }
}

/// Opens and measures runs, each path one.
pub(crate) fn measured(
    paths: &[PathBuf],
    metrics: &[GateMetric],
    question: &Question,
    settings: &Settings,
    context: Context,
) -> Result<Vec<GateRun>, Failure> {
    let measure = |path: &PathBuf| {
        let run = Workspace::open(std::slice::from_ref(path), settings, &TerminalProgress::new(context))?;
        Ok(run.measure(&path.display().to_string(), metrics, question)?)
    };
    paths.iter().map(measure).collect()
}
