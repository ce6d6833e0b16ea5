//! One question on its way through an analysis: which recordings it is about, and how SQL is asked.

use arrow::record_batch::RecordBatch;
use stepscope_engine::{Engine, QueryOptions};
use stepscope_model::{Cell, Missing, ReportColumn, ReportTable, SourceRecord};

use super::Question;
use crate::error::AnalysisError;
use crate::frame::Frame;
use crate::views;
use crate::words;

/// A question about some recordings of a run.
pub(crate) struct Asking<'a> {
    pub engine: &'a Engine,
    /// The recordings that are asked about.
    pub sources: Vec<&'a SourceRecord>,
    /// How many there are in all.
    pub all_sources: usize,
    pub question: &'a Question,
}

impl Asking<'_> {
    /// Asks. In the statement, `{source}` stands for the condition on rank and window, `{steps}` for that and the one on
    /// `step`, and `{events}` for both and the one on `start_ns`.
    pub(crate) fn query(&self, statement: &str) -> Result<Frame, AnalysisError> {
        Ok(Frame::new(self.engine.query(&self.about(statement), &self.options())?))
    }

    /// Asks, and gives the cells of the columns that are named, in their order.
    pub(crate) fn table(&self, statement: &str, columns: Vec<ReportColumn>) -> Result<ReportTable, AnalysisError> {
        let answer = views::sql::table(&self.engine.query(&self.about(statement), &self.options())?)?;
        let place = |column: &ReportColumn| {
            let found = answer.columns.iter().position(|answered| answered.name == column.name);
            found.ok_or_else(|| AnalysisError::Shape(format!("no column {}", column.name)))
        };
        let places = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let row = |row: &Vec<Cell>| places.iter().map(|place| row[*place].clone()).collect();
        let rows = answer.rows.iter().map(row).collect();
        Ok(ReportTable::rows(columns, rows))
    }

    /// Asks and hands out the answer piece by piece: for a walk over many rows.
    pub(crate) fn walk(
        &self,
        statement: &str,
        mut take: impl FnMut(&Frame) -> Result<(), AnalysisError>,
    ) -> Result<(), AnalysisError> {
        for batch in self.engine.stream(&self.about(statement), &self.options())? {
            let batch: RecordBatch = batch?;
            take(&Frame::of_batch(batch))?;
        }
        Ok(())
    }

    /// What sums are over, in words.
    pub(crate) fn scope(&self) -> String {
        let question = self.question;
        let recordings = self.sources.len();
        let across =
            if recordings > 1 { format!(" of {}", words::counted(recordings, "recording")) } else { String::new() };
        match question.steps {
            _ if question.has_time_range() => format!("sums over a stretch of time{across}"),
            Some(range) if range.first == range.last => format!("sums over step {}{across}", range.first),
            Some(range) => format!("sums over steps {} to {}{across}", range.first, range.last),
            None => format!("sums over {}{across}", if recordings > 1 { "all" } else { "the whole recording" }),
        }
    }

    /// Whether rows of a table were written for any of the recordings.
    pub(crate) fn has_rows(&self, table: &str) -> bool {
        self.sources.iter().any(|source| source.rows.get(table).is_some_and(|rows| *rows > 0))
    }

    /// Whether rows are to be grouped by that.
    pub(crate) fn groups_by(&self, grouping: &str) -> bool {
        self.question.group_by.iter().any(|asked| asked == grouping)
    }

    fn options(&self) -> QueryOptions {
        QueryOptions { cancel: self.question.cancel.clone(), ..QueryOptions::default() }
    }

    fn about(&self, statement: &str) -> String {
        let source = self.source_condition();
        let steps = match self.question.steps {
            Some(range) => format!("{source} AND step BETWEEN {} AND {}", range.first, range.last),
            None => source.clone(),
        };
        let events = if self.question.has_time_range() {
            format!("{steps} AND {}", self.time_condition())
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
        let mut ranks: Vec<u32> = self.sources.iter().map(|source| source.id.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        let window = self.question.window.map(|window| format!(" AND \"window\" = {window}"));
        format!("rank IN ({}){}", ranks.join(", "), window.unwrap_or_default())
    }

    /// The condition on time: every recording has a clock of its own.
    fn time_condition(&self) -> String {
        let range = |source: &&SourceRecord| {
            let first = source.first_event_ns.unwrap_or(0);
            let from = self.question.from_ns.map(|from| format!(" AND start_ns >= {}", first.saturating_add(from)));
            let to = self.question.to_ns.map(|to| format!(" AND start_ns < {}", first.saturating_add(to)));
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
            format!("(rank = {} AND \"window\" = {}{from}{to})", source.id.rank, source.id.window)
        };
        format!("({})", self.sources.iter().map(range).collect::<Vec<_>>().join(" OR "))
    }
}

/// Says why values of a column are missing, if any is.
pub(crate) fn missing_in(table: &ReportTable, column: &str, label: &str, reason: &str) -> Option<Missing> {
    let place = table.columns.iter().position(|known| known.name == column)?;
    let is_missing = table.rows.iter().any(|row| row[place] == Cell::Null);
    let path = format!("{}[].{column}", table.name);
    is_missing.then(|| Missing { path, label: label.to_owned(), reason: reason.to_owned() })
}
