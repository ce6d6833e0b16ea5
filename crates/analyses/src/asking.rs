//! One question on its way through an analysis: which recordings it is about, and how SQL is asked.

use std::collections::BTreeSet;

use arrow::record_batch::RecordBatch;
use stepscope_engine::{Engine, QueryOptions};
use stepscope_model::null_reason::not_grouped_by;
use stepscope_model::{Cell, Look, Missing, ReportColumn, ReportTable, Sentence, SourceRecord, Table, say};
use stepscope_runs::{Frame, OpenRun, RunError, table_of};

use super::Question;
use super::step_numbers::{AskedSteps, StepNumbers};

/// The row of what happens outside operators.
pub(crate) const NO_OPERATOR: &str = "(no operator)";

/// A question about some recordings of a run.
pub struct Asking<'a> {
    pub(crate) open: &'a OpenRun,
    pub(crate) engine: &'a Engine,
    pub(crate) run: &'a str,
    /// The recordings that are asked about.
    pub(crate) sources: Vec<&'a SourceRecord>,
    /// How many there are in all.
    pub(crate) all_sources: usize,
    pub(crate) question: &'a Question,
    /// The steps that are asked about, unless all are.
    pub(crate) steps: Option<AskedSteps>,
}

impl<'a> Asking<'a> {
    /// Finds the recordings and steps that a question is about.
    pub fn of(run: &'a OpenRun, question: &'a Question) -> Result<Self, RunError> {
        let sources = run.sources_of(&question.ranks, question.window)?;
        let all_sources = run.sources().len();
        let (engine, name) = (run.engine(), run.name());
        let mut asking = Self { open: run, engine, run: name, sources, all_sources, question, steps: None };
        if let Some(range) = question.steps {
            let numbers = StepNumbers::read(&asking)?;
            let Some(steps) = numbers.asked(range) else {
                return Err(RunError::NoSuchStep { asked: range.to_string(), found: numbers.in_words() });
            };
            let id = |source: &SourceRecord| (i64::from(source.id.rank), i64::from(source.id.window));
            asking.sources.retain(|source| steps.places.contains_key(&id(source)));
            asking.steps = Some(steps);
        }
        Ok(asking)
    }

    /// The recordings that are asked about.
    #[must_use]
    pub fn sources(&self) -> &[&'a SourceRecord] {
        &self.sources
    }

    /// What is asked.
    #[must_use]
    pub fn question(&self) -> &'a Question {
        self.question
    }

    /// What rows of tables must fulfill to be of the steps that are asked about, unless all are.
    #[must_use]
    pub fn step_condition(&self) -> Option<&str> {
        self.steps.as_ref().map(|steps| steps.condition.as_str())
    }
}

impl Asking<'_> {
    /// Asks. In the statement, `{source}` stands for the condition on rank and window, `{steps}` for that and the one on
    /// `step`, and `{events}` for both and the one on `start_ns`.
    pub fn query(&self, statement: &str) -> Result<Frame, RunError> {
        Ok(Frame::new(self.engine.query(&self.about(statement), &self.options())?))
    }

    /// Asks, and gives the cells of the columns that are named, in their order.
    pub(crate) fn table(&self, statement: &str, columns: Vec<ReportColumn>) -> Result<ReportTable, RunError> {
        let answer = table_of(&self.engine.query(&self.about(statement), &self.options())?)?;
        let place = |column: &ReportColumn| {
            let found = answer.columns.iter().position(|answered| answered.name == column.name);
            found.ok_or_else(|| RunError::Shape(format!("no column {}", column.name)))
        };
        let places = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let row = |row: &Vec<Cell>| places.iter().map(|place| row[*place].clone()).collect();
        let rows = answer.rows.iter().map(row).collect();
        let typed = |(column, place): (ReportColumn, &usize)| {
            let holds = answer.columns[*place].holds.or(column.holds);
            ReportColumn { holds, ..column }
        };
        let columns = columns.into_iter().zip(&places).map(typed).collect();
        Ok(ReportTable::rows(columns, rows))
    }

    /// Asks and hands out the answer piece by piece: for a walk over many rows.
    pub fn walk(&self, statement: &str, mut take: impl FnMut(&Frame) -> Result<(), RunError>) -> Result<(), RunError> {
        for batch in self.engine.stream(&self.about(statement), &self.options())? {
            let batch: RecordBatch = batch?;
            take(&Frame::of_batch(batch))?;
        }
        Ok(())
    }

    /// What sums are over, in words.
    pub(crate) fn scope(&self) -> Sentence {
        let question = self.question;
        let recordings = self.sources.len();
        let across =
            if recordings > 1 { say!(" of {}", say::counted(recordings, "trace")) } else { Sentence::default() };
        match self.steps.as_ref().map(|steps| steps.numbers) {
            _ if question.has_time_range() => say!("sums over a time range{}", across),
            Some((first, last)) if first == last => say!("sums over step {}{}", first.to_string(), across),
            Some((first, last)) => say!("sums over steps {} to {}{}", first.to_string(), last.to_string(), across),
            None => say!("sums over {}{}", if recordings > 1 { "all" } else { "the whole trace" }, across),
        }
    }

    /// Whether rows of a table were written for any of the recordings.
    pub(crate) fn has_rows(&self, table: &Table) -> bool {
        self.sources.iter().any(|source| source.rows.of(table) > 0)
    }

    /// Whether the sums of whole steps can answer.
    pub(crate) fn has_sums(&self) -> bool {
        !self.question.has_time_range() && !self.are_sums_left_out()
    }

    /// Whether ingest made no sums of some recording, so that its launches, too, are not known.
    pub(crate) fn are_sums_left_out(&self) -> bool {
        self.sources.iter().any(|source| source.are_sums_left_out())
    }

    /// Recordings whose sums alone are in the store.
    pub(crate) fn without_events(&self) -> usize {
        let catalog = self.open.catalog();
        self.sources.iter().filter(|source| !catalog.has_events(source.id)).count()
    }

    /// Whether any device event was recorded.
    pub(crate) fn has_device_events(&self) -> Result<bool, RunError> {
        Ok(self.query("SELECT span_id FROM device_events WHERE {source} LIMIT 1")?.rows() > 0)
    }

    /// The condition on rank, window and a time column, for tables without steps: what lies in the time of a step on
    /// the host belongs to it.
    pub(crate) fn moments(&self, time: &str) -> Result<String, RunError> {
        let mut condition = self.source_condition();
        if self.steps.is_some() {
            condition = format!("{condition} AND {}", self.step_times(time)?);
        }
        if self.question.has_time_range() {
            condition = format!("{condition} AND {}", self.time_condition(time));
        }
        Ok(condition)
    }

    /// A time of a recording, counted from its first event, as `--from` and `--to` take it.
    pub(crate) fn since_start(&self, rank: i64, window: i64, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.first_event_ns(rank, window))
    }

    /// The steps that are asked about: rank, window, step, and how much of each lies in the time range.
    pub(crate) fn step_lengths(&self) -> Result<Vec<(i64, i64, i64, i64)>, RunError> {
        let steps = self.query("SELECT rank, \"window\", step, start_ns, end_ns FROM steps WHERE {steps}")?;
        let column = |name: &str| steps.required_i64(name);
        let (ranks, windows, numbers) = (column("rank")?, column("window")?, column("step")?);
        let (starts, ends) = (column("start_ns")?, column("end_ns")?);
        let length = |row: usize| {
            let first = self.first_event_ns(ranks[row], windows[row]);
            let from = self.question.from_ns.map_or(i64::MIN, |from| first.saturating_add(from));
            let to = self.question.to_ns.map_or(i64::MAX, |to| first.saturating_add(to));
            (ranks[row], windows[row], numbers[row], (ends[row].min(to) - starts[row].max(from)).max(0))
        };
        Ok((0..steps.rows()).map(length).collect())
    }

    /// A column to group by if that is asked for; else null, so that every answer has it.
    pub(crate) fn key(&self, grouping: &str, column: &str, data_type: &str) -> String {
        if self.groups_by(grouping) { column.to_owned() } else { format!("CAST(NULL AS {data_type}) AS {column}") }
    }

    /// How such a column is shown: only if it is asked for.
    pub(crate) fn key_column(&self, grouping: &str, name: &str, look: Look) -> ReportColumn {
        self.keyed(grouping, ReportColumn::named(name).look(look))
    }

    /// The same for a column with more to it: hidden and without values unless rows are grouped by it.
    pub(crate) fn keyed(&self, grouping: &str, column: ReportColumn) -> ReportColumn {
        if self.groups_by(grouping) { column } else { column.look(Look::Hidden).null(not_grouped_by(grouping)) }
    }

    /// What a device of the recordings is called.
    pub(crate) fn device_noun(&self) -> &'static str {
        let mut devices = self.sources.iter().flat_map(|source| source.devices.iter().flatten());
        let is_tpu = devices.any(|device| device.name.as_deref().is_some_and(|name| name.contains("TPU")));
        if is_tpu { "TPU" } else { "GPU" }
    }

    /// The ranks that are asked about.
    pub(crate) fn ranks(&self) -> BTreeSet<u32> {
        self.sources.iter().map(|source| source.id.rank).collect()
    }

    /// Whether some rank has several windows here.
    pub(crate) fn has_windows(&self) -> bool {
        self.ranks().len() < self.sources.len()
    }

    /// Whether rows are to be grouped by that. A step of one window is not that of another.
    pub(crate) fn groups_by(&self, grouping: &str) -> bool {
        let is_asked = |grouping: &str| self.question.group_by.iter().any(|asked| asked == grouping);
        is_asked(grouping) || (grouping == "window" && is_asked("step") && self.has_windows())
    }

    /// How many rows there are, for the line of sums: of what if each is one, else just rows, as groups repeat names.
    pub(crate) fn counted_rows(&self, rows: usize, noun: &str) -> Cell {
        Cell::Sentence(say::counted(rows, if self.question.group_by.is_empty() { noun } else { "row" }))
    }

    fn first_event_ns(&self, rank: i64, window: i64) -> i64 {
        let id = |source: &SourceRecord| (i64::from(source.id.rank), i64::from(source.id.window));
        let source = self.sources.iter().find(|source| id(source) == (rank, window));
        source.and_then(|source| source.first_event_ns).unwrap_or(0)
    }

    fn options(&self) -> QueryOptions {
        QueryOptions { cancel: self.question.cancel.clone(), ..QueryOptions::default() }
    }

    fn about(&self, statement: &str) -> String {
        let source = self.source_condition();
        let steps = match &self.steps {
            Some(steps) => format!("{source} AND {}", steps.condition),
            None => source.clone(),
        };
        let events = if self.question.has_time_range() {
            format!("{steps} AND {}", self.time_condition("start_ns"))
        } else {
            steps.clone()
        };
        statement.replace("{source}", &source).replace("{steps}", &steps).replace("{events}", &events)
    }

    /// The condition on rank and window; nothing to say when all recordings are asked about.
    fn source_condition(&self) -> String {
        if self.sources.len() == self.all_sources {
            return "true".to_owned();
        }
        let ranks: Vec<String> = self.ranks().iter().map(u32::to_string).collect();
        let window = self.question.window.map(|window| format!(" AND \"window\" = {window}"));
        format!("rank IN ({}){}", ranks.join(", "), window.unwrap_or_default())
    }

    /// The condition on a time column: every recording has a clock of its own.
    fn time_condition(&self, time: &str) -> String {
        let range = |source: &&SourceRecord| {
            let first = source.first_event_ns.unwrap_or(0);
            let from = self.question.from_ns.map(|from| format!(" AND {time} >= {}", first.saturating_add(from)));
            let to = self.question.to_ns.map(|to| format!(" AND {time} < {}", first.saturating_add(to)));
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
            format!("(rank = {} AND \"window\" = {}{from}{to})", source.id.rank, source.id.window)
        };
        format!("({})", self.sources.iter().map(range).collect::<Vec<_>>().join(" OR "))
    }

    /// The condition that a time lies in a step on the host. Steps that follow one another are one stretch.
    fn step_times(&self, time: &str) -> Result<String, RunError> {
        let steps = self.query(
            "SELECT rank, \"window\", host_start_ns, host_start_ns + host_dur_ns AS host_end_ns FROM steps
             WHERE {steps} ORDER BY rank, \"window\", step",
        )?;
        let column = |name: &str| steps.required_i64(name);
        let (ranks, windows) = (column("rank")?, column("window")?);
        let (starts, ends) = (column("host_start_ns")?, column("host_end_ns")?);
        let mut stretches: Vec<((i64, i64), i64, i64)> = Vec::new();
        for row in 0..steps.rows() {
            let source = (ranks[row], windows[row]);
            match stretches.last_mut() {
                Some((same, _, end)) if *same == source && *end >= starts[row] => *end = (*end).max(ends[row]),
                _ => stretches.push((source, starts[row], ends[row])),
            }
        }
        let condition = |((rank, window), start, end): &((i64, i64), i64, i64)| {
            format!("(rank = {rank} AND \"window\" = {window} AND {time} >= {start} AND {time} < {end})")
        };
        let conditions: Vec<String> = stretches.iter().map(condition).collect();
        Ok(if conditions.is_empty() { "false".to_owned() } else { format!("({})", conditions.join(" OR ")) })
    }
}

/// The sum of a column of integers, for the line of sums.
pub(crate) fn sum_of(table: &ReportTable, column: &str) -> i64 {
    let Some(place) = table.columns.iter().position(|known| known.name == column) else { return 0 };
    table.rows.iter().map(|row| if let Cell::Int(value) = row[place] { value } else { 0 }).sum()
}

/// Says why values of a column are missing, if any is. People hear of it by the header of the column.
pub(crate) fn missing_in(table: &ReportTable, column: &str, reason: &str) -> Option<Missing> {
    let place = table.columns.iter().position(|known| known.name == column)?;
    let is_missing = table.rows.iter().any(|row| row[place] == Cell::Null);
    let path = format!("{}[].{column}", table.name);
    is_missing.then(|| Missing { path, label: table.columns[place].header(), reason: reason.into() })
}

/// The same for several columns with one reason.
pub(crate) fn all_missing_in(table: &ReportTable, columns: &[&str], reason: &str) -> Vec<Missing> {
    columns.iter().filter_map(|column| missing_in(table, column, reason)).collect()
}
