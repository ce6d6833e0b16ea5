//! What the gate needs of a run: series of its metrics, its fingerprint, and the time on its critical path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use stepscope_model::null_reason::{MEMORY_TOTALS_NOT_RECORDED, NO_COMPLETE_STEP, NO_MEMORY_EVENTS};
use stepscope_model::tables::MEMORY_EVENTS;
use stepscope_model::{Cell, Part, Report, ReportTable, StepSource};
use stepscope_replay::recording::Recording;
use stepscope_replay::{JobStep, PathClass, Piece};
use stepscope_runs::{OpenRun, RunError};

use super::fingerprint::{self, Fingerprint};
use super::metric::{GateMetric, Measure};
use crate::analyze::analyze;
use crate::diff::{PathOfSteps, PerStep};
use crate::step_model::ModeledSteps;
use crate::{Analysis, Asking, Question};

/// Rows of the critical path that are kept by name; the others are added up by class.
const ROWS_KEPT: usize = 30;

/// The name of what is added up.
const REST: &str = "(rest)";

/// Ranks whose steps are joined at most, as for the path across ranks.
const MOST_RANKS: usize = 64;

/// One run, as far as the gate needs it. A baseline file is a list of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GateRun {
    /// What people call it.
    pub name: String,
    /// When it was saved, in seconds since 1970.
    #[serde(default)]
    pub saved_unix_s: u64,
    pub(super) fingerprint: Fingerprint,
    /// Values by metric, in the order of time.
    pub(super) series: BTreeMap<String, Vec<f64>>,
    /// Why metrics have no values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) missing: BTreeMap<String, String>,
    /// Time on the critical path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<PathRow>,
}

/// Time on the critical path by class and name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PathRow {
    class: String,
    name: String,
    /// One value per step.
    values_ns: Vec<i64>,
}

/// Measures a run.
pub fn measure(run: &OpenRun, name: &str, metrics: &[GateMetric], question: &Question) -> Result<GateRun, RunError> {
    let asking = Asking::of(run, question)?;
    let steps = Steps::of(&asking)?;
    let mut measured = GateRun {
        name: name.to_owned(),
        saved_unix_s: 0,
        fingerprint: fingerprint::of(&asking)?,
        series: BTreeMap::new(),
        missing: BTreeMap::new(),
        path: steps.as_ref().map(|steps| rows_of(&steps.path)).unwrap_or_default(),
    };
    for metric in metrics {
        let values = series(&asking, &steps, &metric.measure)?;
        match values {
            Ok(values) => drop(measured.series.insert(metric.name.clone(), values)),
            Err(reason) => drop(measured.missing.insert(metric.name.clone(), reason)),
        }
    }
    Ok(measured)
}

impl GateRun {
    /// A run of which only the values of one metric are known.
    #[must_use]
    pub fn of_values(metric: &str, values: Vec<f64>) -> Self {
        Self {
            name: String::new(),
            saved_unix_s: 0,
            fingerprint: Fingerprint::new(),
            series: BTreeMap::from([(metric.to_owned(), values)]),
            missing: BTreeMap::new(),
            path: Vec::new(),
        }
    }

    /// The values of a metric; none if it was not measured.
    #[must_use]
    pub fn values(&self, metric: &str) -> &[f64] {
        self.series.get(metric).map_or(&[], Vec::as_slice)
    }

    /// Why a metric has no values, if it has none.
    pub(super) fn missing(&self, metric: &str) -> Option<&str> {
        match self.series.get(metric) {
            Some(values) if !values.is_empty() => None,
            _ => Some(self.missing.get(metric).map_or("not measured", String::as_str)),
        }
    }

    /// Keeps the longest rows of the path, and the rest of each class: together they are the steps, exactly.
    pub(super) fn shorten_path(&mut self) {
        if self.path.len() <= ROWS_KEPT {
            return;
        }
        self.path.sort_by_key(|row| (row.name == REST, -row.values_ns.iter().sum::<i64>()));
        let mut rests: BTreeMap<String, PathRow> = BTreeMap::new();
        for row in self.path.split_off(ROWS_KEPT) {
            let new = || PathRow { name: REST.to_owned(), values_ns: vec![0; row.values_ns.len()], ..row.clone() };
            let rest = rests.entry(row.class.clone()).or_insert_with(new);
            rest.values_ns.iter_mut().zip(&row.values_ns).for_each(|(sum, value_ns)| *sum += value_ns);
        }
        self.path.extend(rests.into_values());
    }

    /// Removes what only explains: the rows of the path.
    pub(super) fn without_path(&mut self) {
        self.path.clear();
    }

    pub(super) fn has_path(&self) -> bool {
        !self.path.is_empty()
    }
}

/// The path of several runs as if all their steps were one run's; `None` if one of them has none.
pub(super) fn joined_path(runs: &[&GateRun]) -> Option<PathOfSteps> {
    let mut joined = PathOfSteps::default();
    for run in runs {
        let steps = run.path.first().map(|row| row.values_ns.len())?;
        let before = joined.steps_ns.len();
        joined.steps_ns.resize(before + steps, 0);
        for row in &run.path {
            let class = PathClass::ALL.into_iter().find(|class| class.as_text() == row.class)?;
            let sums = joined.rows.entry((class, row.name.clone())).or_insert_with(|| PerStep::new(0));
            for (step, value_ns) in row.values_ns.iter().enumerate() {
                sums.values.resize(sums.values.len().max(before + step + 1), 0);
                sums.add(Some(before + step), *value_ns);
                *joined.steps_ns.get_mut(before + step)? += value_ns;
            }
        }
    }
    let steps = joined.steps_ns.len();
    joined.rows.values_mut().for_each(|row| row.values.resize(steps, 0));
    Some(joined)
}

/// The steps of a run: of the job if it has several ranks, else of its first recording.
struct Steps {
    path: PathOfSteps,
    /// The question about just these steps; `None` if they have no numbers.
    question: Option<Question>,
    samples_per_step: f64,
}

impl Steps {
    fn of(asking: &Asking<'_>) -> Result<Result<Self, &'static str>, RunError> {
        if asking.sources.is_empty() || asking.sources.iter().all(|source| source.is_profile()) {
            return Ok(Err(NO_COMPLETE_STEP));
        }
        let modeled = asking.first_model()?;
        let steps = match &modeled.steps {
            Ok(_) if modeled.source.step_source == StepSource::None => return Ok(Err(NO_COMPLETE_STEP)),
            Ok(steps) => steps,
            Err(reason) => return Ok(Err(reason)),
        };
        let path = match of_job(asking)? {
            Some(path) => path,
            None => of_one(steps),
        };
        let question = steps.question(asking, modeled.source, &[])?;
        let samples_per_step = asking.question.samples_per_step.unwrap_or(1.0);
        Ok(Ok(Self { path, question, samples_per_step }))
    }
}

/// The steps of one recording.
fn of_one(steps: &ModeledSteps) -> PathOfSteps {
    let model = steps.model();
    let mut path =
        PathOfSteps { steps_ns: steps.steps().iter().map(|step| step.dur_ns).collect(), ..PathOfSteps::default() };
    for (step, pieces) in model.paths()[steps.asked.clone()].iter().enumerate() {
        pieces.pieces.iter().for_each(|piece| add(&mut path, step, piece, model.recording()));
    }
    path
}

/// The steps of all ranks together; `None` if there is one rank, or ranks do not fit together.
fn of_job(asking: &Asking<'_>) -> Result<Option<PathOfSteps>, RunError> {
    let count = asking.ranks().len();
    if !(2..=MOST_RANKS).contains(&count) || asking.has_windows() || asking.steps.is_some() {
        return Ok(None);
    }
    let sources: Vec<_> = asking.sources.iter().map(|source| (*source).clone()).collect();
    let Ok(window) = asking.open.job_model(&sources)? else { return Ok(None) };
    let model = &window.model;
    let recordings: Vec<&Recording> = model.recordings().collect();
    let mut path =
        PathOfSteps { steps_ns: model.steps().iter().map(JobStep::dur_ns).collect(), ..PathOfSteps::default() };
    for (step, of_step) in model.paths().iter().enumerate() {
        of_step.pieces.iter().for_each(|piece| add(&mut path, step, &piece.piece, recordings[piece.rank]));
    }
    Ok(Some(path))
}

fn add(path: &mut PathOfSteps, step: usize, piece: &Piece, recording: &Recording) {
    let count = path.steps_ns.len();
    let key = (piece.class, piece.row_name(recording).to_owned());
    path.rows.entry(key).or_insert_with(|| PerStep::new(count)).add(Some(step), piece.dur_ns());
}

fn rows_of(path: &PathOfSteps) -> Vec<PathRow> {
    let row = |((class, name), row): (&(PathClass, String), &PerStep)| PathRow {
        class: class.as_text().to_owned(),
        name: name.clone(),
        values_ns: row.values.clone(),
    };
    path.rows.iter().map(row).collect()
}

/// Adds rows to the rest of their class that the other side, a file, may have without a name: those that it has no row of,
/// though a longer one would have a name there.
pub(super) fn fold_unnamed(path: &mut PathOfSteps, file: &PathOfSteps) {
    let mean_ns = |row: &PerStep, path: &PathOfSteps| row.total as f64 / path.steps_ns.len().max(1) as f64;
    let named = file.rows.iter().filter(|((_, name), _)| name != REST);
    let shortest_ns = named.map(|(_, row)| mean_ns(row, file)).fold(f64::INFINITY, f64::min);
    let count = path.steps_ns.len();
    let unnamed: Vec<(PathClass, String)> = path
        .rows
        .iter()
        .filter(|((class, _), _)| file.rows.contains_key(&(*class, REST.to_owned())))
        .filter(|(key, row)| !file.rows.contains_key(*key) && mean_ns(row, path) <= shortest_ns)
        .map(|(key, _)| key.clone())
        .collect();
    for key in unnamed {
        let Some(row) = path.rows.remove(&key) else { continue };
        let rest = path.rows.entry((key.0, REST.to_owned())).or_insert_with(|| PerStep::new(count));
        row.values.iter().enumerate().for_each(|(step, value_ns)| rest.add(Some(step), *value_ns));
    }
}

/// The values of a metric, or why there are none.
fn series(
    asking: &Asking<'_>,
    steps: &Result<Steps, &'static str>,
    measure: &Measure,
) -> Result<Result<Vec<f64>, String>, RunError> {
    let of_steps = |value: &dyn Fn(&Steps, f64) -> f64| match steps {
        Ok(steps) => Ok(steps.path.steps_ns.iter().map(|step_ns| value(steps, *step_ns as f64)).collect()),
        Err(reason) => Err((*reason).to_owned()),
    };
    match measure {
        Measure::StepTime => Ok(of_steps(&|_, step_ns| step_ns)),
        Measure::Throughput => Ok(of_steps(&|steps, step_ns| steps.samples_per_step * 1e9 / step_ns.max(1.0))),
        Measure::PeakMemory => peak_memory(asking, steps),
        Measure::Given => Ok(Err("measured elsewhere".to_owned())),
        Measure::Region(name) => region(asking, name),
        Measure::Column { analysis, column, row } => of_column(asking, steps, analysis, column, row.as_deref()),
    }
}

/// The time of each entry of a region, in their order.
fn region(asking: &Asking<'_>, name: &str) -> Result<Result<Vec<f64>, String>, RunError> {
    let rows = asking.query(&format!(
        "SELECT dur_ns FROM spans WHERE {{events}} AND kind = 'ann' AND phase = 'X' AND name = '{}'
         ORDER BY rank, \"window\", start_ns, position",
        name.replace('\'', "''")
    ))?;
    let times: Vec<f64> = rows.required_i64("dur_ns")?.into_iter().map(|time_ns| time_ns as f64).collect();
    Ok(if times.is_empty() { Err(format!("no region named {name}")) } else { Ok(times) })
}

/// The highest memory in use during each step: of devices, else of the host.
fn peak_memory(asking: &Asking<'_>, steps: &Result<Steps, &'static str>) -> Result<Result<Vec<f64>, String>, RunError> {
    let steps = match steps {
        Ok(steps) => steps,
        Err(reason) => return Ok(Err((*reason).to_owned())),
    };
    if !asking.has_rows(&MEMORY_EVENTS) {
        return Ok(Err(NO_MEMORY_EVENTS.to_owned()));
    }
    let asked = steps.question.as_ref().map(|question| Asking::of(asking.open, question)).transpose()?;
    let asking = asked.as_ref().unwrap_or(asking);
    for devices in ["device_type <> 0", "coalesce(device_type, 0) = 0"] {
        let rows = asking.query(&format!(
            "SELECT step.step, max(event.level) AS peak
             FROM (SELECT rank, \"window\", ts_ns, total_allocated_bytes AS level FROM memory_events
                   WHERE {{source}} AND {devices} AND total_allocated_bytes IS NOT NULL) AS event
             JOIN (SELECT rank, \"window\", step, start_ns, end_ns FROM steps WHERE {{steps}}) AS step
               ON step.rank = event.rank AND step.\"window\" = event.\"window\"
                 AND event.ts_ns >= step.start_ns AND event.ts_ns < step.end_ns
             GROUP BY step.step ORDER BY step.step"
        ))?;
        let peaks: Vec<f64> = rows.required_i64("peak")?.into_iter().map(|bytes| bytes as f64).collect();
        if !peaks.is_empty() {
            return Ok(Ok(peaks));
        }
    }
    Ok(Err(MEMORY_TOTALS_NOT_RECORDED.to_owned()))
}

/// A column of an analysis: one value per step where it has steps, else one.
fn of_column(
    asking: &Asking<'_>,
    steps: &Result<Steps, &'static str>,
    analysis: &Analysis,
    column: &str,
    row: Option<&str>,
) -> Result<Result<Vec<f64>, String>, RunError> {
    let mut question = match steps {
        Ok(Steps { question: Some(question), .. }) => question.clone(),
        _ => asking.question.clone(),
    };
    let by_step = steps.is_ok() && analysis.groupings.contains(&"step");
    question.group_by = if by_step { vec!["step".to_owned()] } else { Vec::new() };
    let report = analyze(asking.open, analysis, &question)?;
    Ok(values(&report, column, row, by_step))
}

fn values(report: &Report, column: &str, row: Option<&str>, by_step: bool) -> Result<Vec<f64>, String> {
    let has = |table: &&ReportTable| place(table, column).is_some();
    let tables = report.parts.iter().filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None });
    let table = tables.filter(has).max_by_key(|table| table.name == "rows");
    let Some((table, value_at)) = table.and_then(|table| Some((table, place(table, column)?))) else {
        return Err(format!("{} has no column {column}", report.name));
    };
    let name_at = table.columns.iter().position(|it| it.name == "name").unwrap_or(0);
    let is_meant = |cells: &&Vec<Cell>| match (row, &cells[name_at]) {
        (None, _) => true,
        (Some(row), Cell::Text(name)) => name == row,
        _ => false,
    };
    let step_at = place(table, "step").filter(|_| by_step);
    let mut sums: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for cells in table.rows.iter().filter(is_meant) {
        let step = match step_at.map(|place| &cells[place]) {
            Some(Cell::Int(step)) => *step,
            Some(_) => continue,
            None => 0,
        };
        if let Some(value) = number(&cells[value_at]) {
            let sum = sums.entry(step).or_default();
            *sum = (sum.0 + value, sum.1 + 1);
        }
    }
    if sums.is_empty() {
        let of_row = row.map(|row| format!(" of {row}")).unwrap_or_default();
        return Err(format!("{} has no value of {column}{of_row}", report.name));
    }
    if column.ends_with("_ratio") && sums.values().any(|(_, rows)| *rows > 1) {
        return Err(format!("{column} has several rows, which do not add up; name one with `row`"));
    }
    Ok(sums.into_values().map(|(sum, _)| sum).collect())
}

fn place(table: &ReportTable, column: &str) -> Option<usize> {
    table.columns.iter().position(|it| it.name == column)
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) if value.is_finite() => Some(*value),
        Cell::Json(Json::Number(value)) => value.as_f64(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rows: &[(&str, i64)]) -> PathOfSteps {
        let row = |(name, value_ns): &(&str, i64)| {
            ((PathClass::Kernel, (*name).to_owned()), PerStep { values: vec![*value_ns; 2], total: 2 * value_ns })
        };
        let step_ns = rows.iter().map(|(_, value_ns)| value_ns).sum();
        PathOfSteps { steps_ns: vec![step_ns; 2], rows: rows.iter().map(row).collect() }
    }

    fn named(path: &PathOfSteps) -> Vec<(&str, i64)> {
        path.rows.iter().map(|((_, name), row)| (name.as_str(), row.total)).collect()
    }

    #[test]
    fn rows_that_a_file_may_have_without_a_name_join_its_rest() {
        let file = path(&[("a", 50), ("b", 10), (REST, 7)]);
        let mut now = path(&[("a", 50), ("small", 4), ("tiny", 1), ("new", 30)]);
        fold_unnamed(&mut now, &file);
        assert_eq!(named(&now), [(REST, 10), ("a", 100), ("new", 60)]);
        // Without a rest the file has every row.
        let mut now = path(&[("a", 50), ("small", 4)]);
        fold_unnamed(&mut now, &path(&[("a", 50), ("b", 10)]));
        assert_eq!(named(&now), [("a", 100), ("small", 8)]);
    }

    #[test]
    fn a_shortened_path_still_adds_up() {
        let rows: Vec<(String, i64)> = (0..100).map(|place| (format!("row {place}"), 1 + place)).collect();
        let rows: Vec<(&str, i64)> = rows.iter().map(|(name, value_ns)| (name.as_str(), *value_ns)).collect();
        let whole = path(&rows);
        let mut run = GateRun {
            name: String::new(),
            saved_unix_s: 0,
            fingerprint: BTreeMap::new(),
            series: BTreeMap::new(),
            missing: BTreeMap::new(),
            path: rows_of(&whole),
        };
        run.shorten_path();
        run.shorten_path();
        assert_eq!(run.path.len(), ROWS_KEPT + 1);
        let joined = joined_path(&[&run, &run]).unwrap();
        assert_eq!(joined.steps_ns, [whole.steps_ns.clone(), whole.steps_ns].concat());
        assert_eq!(joined.rows[&(PathClass::Kernel, "row 99".to_owned())].values, [100; 4]);
    }
}
