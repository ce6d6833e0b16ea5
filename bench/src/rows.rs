//! The rows of the result: a figure, its bar, and whether it counts. As text and as JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::series::{Series, ratios};

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// What is measured.
    pub(crate) what: String,
    /// The figure; `None` when it does not count.
    pub(crate) figure: Option<f64>,
    /// Its unit; empty for a ratio.
    pub(crate) unit: &'static str,
    /// What it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bar: Option<Bar>,
    /// Whether it counts.
    pub(crate) status: Status,
    /// What else is worth knowing.
    pub(crate) note: String,
}

/// Where a figure should lie.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
}

impl Bar {
    /// Whether a figure lies there.
    pub(crate) fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
        }
    }
}

/// Whether a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// The answers were right.
    Ok,
    /// They were not, or a run failed.
    Failed,
    /// There was nothing to run.
    Absent,
}

impl Row {
    /// A figure of runs whose answers were right.
    pub(crate) fn figure(what: impl Into<String>, figure: f64, unit: &'static str) -> Self {
        Self { what: what.into(), figure: Some(figure), unit, bar: None, status: Status::Ok, note: String::new() }
    }

    /// A row without a figure.
    pub(crate) fn without(what: impl Into<String>, status: Status, note: impl Into<String>) -> Self {
        Self { what: what.into(), figure: None, unit: "", bar: None, status, note: note.into() }
    }

    /// Shortest time of one contender over the shortest of another.
    pub(crate) fn ratio(what: impl Into<String>, above: &Series, below: &Series) -> Self {
        Self::of_series(what, &[above, below], || {
            let (figure, median, runs) = ratios(above, below)?;
            Some((figure, "", format!("{runs} pairs, median {median:.2}")))
        })
    }

    /// Most memory of a contender, in MiB.
    pub(crate) fn memory(what: impl Into<String>, series: &Series) -> Self {
        Self::of_series(what, &[series], || {
            let figure = series.most_memory()? as f64 / (1024.0 * 1024.0);
            Some((figure, "MiB", format!("{} runs", series.peak_rss_bytes.len())))
        })
    }

    /// A figure that counts only if all of these did well.
    pub(crate) fn of_series(
        what: impl Into<String>,
        series: &[&Series],
        figure: impl FnOnce() -> Option<(f64, &'static str, String)>,
    ) -> Self {
        let what = what.into();
        if let Some(reason) = series.iter().find_map(|series| series.absent.as_ref()) {
            return Self::without(what, Status::Absent, reason);
        }
        if let Some((problem, name)) = series.iter().find_map(|series| Some((series.problems.first()?, &series.name))) {
            return Self::without(what, Status::Failed, format!("{name}: {problem}"));
        }
        match figure() {
            Some((figure, unit, note)) => Self { note, ..Self::figure(what, figure, unit) },
            None => Self::without(what, Status::Failed, "nothing was measured"),
        }
    }

    /// The same with a bar, if bars apply.
    pub(crate) fn with_bar(mut self, bar: Option<Bar>) -> Self {
        self.bar = bar;
        self
    }

    /// The same with more to know about it.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        if !note.is_empty() {
            self.note = if self.note.is_empty() { note.to_owned() } else { format!("{}; {note}", self.note) };
        }
        self
    }
}

/// All rows as a table.
pub(crate) fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {:>12}  {:>9}  {:<6}  note\n", "what", "figure", "bar", "meets");
    for row in rows {
        let figure = match (row.figure, row.status) {
            (Some(figure), _) if row.unit.is_empty() => format!("{figure:.2}"),
            (Some(figure), _) => format!("{figure:.2} {}", row.unit),
            (None, Status::Failed) => "FAILED".to_owned(),
            (None, _) => "–".to_owned(),
        };
        let bar = match row.bar {
            Some(Bar::AtMost(bar)) => format!("≤ {bar}"),
            Some(Bar::AtLeast(bar)) => format!("≥ {bar}"),
            None => "–".to_owned(),
        };
        let meets = row.figure.zip(row.bar).map_or("–", |(figure, bar)| yes_or_no(bar.is_met(figure)));
        let _ = writeln!(text, "{:<width$}  {figure:>12}  {bar:>9}  {meets:<6}  {}", row.what, row.note);
    }
    text
}

fn yes_or_no(is_met: bool) -> &'static str {
    if is_met { "yes" } else { "NO" }
}

#[cfg(test)]
mod tests {
    use super::{Row, Status};
    use crate::series::Series;

    fn series(seconds: &[f64], problem: Option<&str>) -> Series {
        let problems = problem.map(str::to_owned).into_iter().collect();
        Series { seconds: seconds.to_vec(), problems, ..Series::new("x") }
    }

    #[test]
    fn a_timing_without_equality_does_not_count() {
        let ratio = Row::ratio("r", &series(&[4.0, 3.0], None), &series(&[2.0, 1.0], None));
        assert_eq!((ratio.figure, ratio.status), (Some(3.0), Status::Ok));
        // The second try of one of them has no partner.
        let uneven = Row::ratio("r", &series(&[4.0], None), &series(&[2.0, 1.0], None));
        assert_eq!(uneven.figure, Some(2.0));
        let wrong = Row::ratio("r", &series(&[4.0], Some("rows differ")), &series(&[2.0], None));
        assert_eq!((wrong.figure, wrong.status), (None, Status::Failed));
        let absent = Row::ratio("r", &series(&[4.0], None), &Series::absent("hta", "not installed"));
        assert_eq!((absent.figure, absent.status, absent.note.as_str()), (None, Status::Absent, "not installed"));
    }
}
