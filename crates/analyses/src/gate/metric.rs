//! What is gated: usual metrics by name, and those that a file of the user describes.

use serde_json::{Map, Value as Json};
use stepscope_figures::gate::{Better, Limits};
use stepscope_model::{ReportColumn, Unit};

use crate::{ANALYSES, Analysis};

/// A metric, which way it should go, and from when on a change counts.
#[derive(Clone, Debug)]
pub struct GateMetric {
    /// Its name in files and answers.
    pub name: String,
    pub(super) measure: Measure,
    /// Which way it should go.
    pub better: Better,
    /// From when on a change counts.
    pub limits: Limits,
}

/// Where values come from.
#[derive(Clone, Debug)]
pub(super) enum Measure {
    /// The length of each step.
    StepTime,
    /// Samples per second of each step, else steps.
    Throughput,
    /// The highest memory in use during each step.
    PeakMemory,
    /// The time of each entry of a region.
    Region(String),
    /// Measured elsewhere.
    Given,
    /// A column of an analysis, of one row or of all rows together: per step if the analysis has steps, else per run.
    Column { analysis: &'static Analysis, column: String, row: Option<String> },
}

/// Why a description of metrics is refused.
#[derive(Debug, thiserror::Error)]
pub enum MetricError {
    /// It is not JSON.
    #[error("expected JSON: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is JSON of another shape.
    #[error("expected an object such as {{\"step_time\": {{\"report_ratio\": 0.03}}}}")]
    Shape,
    /// No metric has that name.
    #[error("found no metric: {0}; expected step_time, throughput, peak_memory, exposed_communication or region:NAME")]
    Name(String),
    /// A member that no metric has.
    #[error("{metric}: found no setting {member}, expected one of: {}", MEMBERS.join(", "))]
    Member {
        /// The metric.
        metric: String,
        /// What was found.
        member: String,
    },
    /// The value does not fit.
    #[error("{metric}.{member}: expected {expected}, found: {found}")]
    Value {
        /// The metric.
        metric: String,
        /// The setting.
        member: &'static str,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// An analysis without a column, or the other way round.
    #[error("{0}: expected both analysis and column")]
    Half(String),
}

const MEMBERS: [&str; 8] = ["analysis", "column", "row", "region", "better", "alpha", "report_ratio", "exclude_ratio"];

impl GateMetric {
    /// The metric that is gated unless others are asked for.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        vec![Self::new("step_time", Measure::StepTime)]
    }

    /// A metric by its name alone: one of the usual ones, or `region:NAME`.
    pub fn named(name: &str) -> Result<Self, MetricError> {
        let measure = match (name, name.strip_prefix("region:")) {
            (_, Some(region)) if !region.is_empty() => Measure::Region(region.to_owned()),
            ("step_time", _) => Measure::StepTime,
            ("throughput", _) => Measure::Throughput,
            ("peak_memory", _) => Measure::PeakMemory,
            ("exposed_communication", _) => column("steps", "communication_ns", None).unwrap_or(Measure::StepTime),
            _ => return Err(MetricError::Name(name.to_owned())),
        };
        Ok(Self::new(name, measure))
    }

    fn new(name: &str, measure: Measure) -> Self {
        let better = if matches!(measure, Measure::Throughput) { Better::Higher } else { Better::Lower };
        Self { name: name.to_owned(), measure, better, limits: Limits::default() }
    }

    /// A metric of values that were measured elsewhere, in seconds or whatever they are.
    #[must_use]
    pub fn of_values(name: &str, better: Better, limits: Limits) -> Self {
        Self { name: name.to_owned(), measure: Measure::Given, better, limits }
    }

    /// The unit of its values.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match &self.measure {
            Measure::StepTime | Measure::Region(_) => Unit::Nanoseconds,
            Measure::Throughput | Measure::Given => Unit::Plain,
            Measure::PeakMemory => Unit::Bytes,
            Measure::Column { column, .. } => ReportColumn::named(column).unit,
        }
    }

    /// One entry of a file.
    fn described(name: &str, settings: &Map<String, Json>) -> Result<Self, MetricError> {
        if let Some(member) = settings.keys().find(|member| !MEMBERS.contains(&member.as_str())) {
            return Err(MetricError::Member { metric: name.to_owned(), member: member.clone() });
        }
        let text = |member: &'static str| match settings.get(member) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.as_str())),
            Some(found) => Err(refused(name, member, "a text", found)),
        };
        let mut metric = match (text("analysis")?, text("column")?, text("region")?) {
            (Some(analysis), Some(of), None) => {
                let measure = column(analysis, of, text("row")?);
                let unknown = || refused(name, "analysis", "the name of an analysis", &settings["analysis"]);
                Self::new(name, measure.ok_or_else(unknown)?)
            }
            (None, None, Some(region)) => Self::new(name, Measure::Region(region.to_owned())),
            (None, None, None) => Self::named(name)?,
            _ => return Err(MetricError::Half(name.to_owned())),
        };
        metric.better = match text("better")? {
            None => metric.better,
            Some("lower") => Better::Lower,
            Some("higher") => Better::Higher,
            Some(_) => return Err(refused(name, "better", "lower or higher", &settings["better"])),
        };
        let ratio = |member: &'static str, usual: f64| match settings.get(member) {
            None => Ok(usual),
            Some(value) => value
                .as_f64()
                .filter(|ratio| (0.0..1.0).contains(ratio))
                .ok_or_else(|| refused(name, member, "a number from 0 to 1", value)),
        };
        let usual = Limits::default();
        metric.limits = Limits {
            alpha: ratio("alpha", usual.alpha)?,
            report_ratio: ratio("report_ratio", usual.report_ratio)?,
            exclude_ratio: ratio("exclude_ratio", usual.exclude_ratio)?,
        };
        Ok(metric)
    }
}

fn refused(metric: &str, member: &'static str, expected: &'static str, found: &Json) -> MetricError {
    MetricError::Value { metric: metric.to_owned(), member, expected, found: found.to_string() }
}

fn column(analysis: &str, column: &str, row: Option<&str>) -> Option<Measure> {
    let analysis = ANALYSES.iter().find(|known| known.name == analysis)?;
    Some(Measure::Column { analysis, column: column.to_owned(), row: row.map(str::to_owned) })
}

/// The metrics that a file describes: a JSON object, by name.
pub fn read_metrics(text: &str) -> Result<Vec<GateMetric>, MetricError> {
    let file: Json = serde_json::from_str(text)?;
    let metrics = file.as_object().filter(|metrics| !metrics.is_empty()).ok_or(MetricError::Shape)?;
    let described = metrics
        .iter()
        .map(|(name, settings)| GateMetric::described(name, settings.as_object().ok_or(MetricError::Shape)?));
    described.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_describes_metrics() {
        let metrics = read_metrics(
            r#"{"step_time": {"report_ratio": 0.03}, "throughput": {}, "mm": {"analysis": "ops", "column": "host_self_ns",
                "row": "aten::mm", "exclude_ratio": 0.2}, "forward": {"region": "forward", "better": "lower"}}"#,
        );
        let metrics = metrics.unwrap();
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["step_time", "throughput", "mm", "forward"]);
        assert!(matches!(&metrics[2].measure, Measure::Column { analysis, .. } if analysis.name == "ops"));
        assert!((metrics[2].limits.exclude_ratio - 0.2).abs() < 1e-12);
        assert!((metrics[0].limits.report_ratio - 0.03).abs() < 1e-12);
        assert_eq!(metrics[1].better, Better::Higher);
    }

    #[test]
    fn what_a_file_means_is_never_guessed() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let error = read_metrics(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        check("[]", "expected an object");
        check("{}", "expected an object");
        check("{", "expected JSON");
        check(r#"{"step_tim": {}}"#, "found no metric: step_tim");
        check(r#"{"step_time": {"limit": 1}}"#, "step_time: found no setting limit, expected one of: analysis");
        check(r#"{"step_time": {"alpha": 2}}"#, "step_time.alpha: expected a number from 0 to 1, found: 2");
        check(r#"{"step_time": {"better": "up"}}"#, r#"step_time.better: expected lower or higher, found: "up""#);
        check(r#"{"x": {"analysis": "ops"}}"#, "x: expected both analysis and column");
        check(r#"{"x": {"analysis": "op", "column": "a"}}"#, "x.analysis: expected the name of an analysis");
    }
}
